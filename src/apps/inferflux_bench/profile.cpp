#include "apps/inferflux_bench/profile.h"

#include <algorithm>

namespace inferflux::apps {

void Profile::Add(std::string_view operation, double seconds, const OperationWork& work) {
  auto found = totals_.find(operation);
  if (found == totals_.end()) found = totals_.emplace(operation, Total{}).first;
  Total& total = found->second;
  ++total.calls;
  total.seconds += seconds;
  total.work.bytes += work.bytes;
  total.work.int8_operations += work.int8_operations;
  total.work.bf16_operations += work.bf16_operations;
  total.work.float_operations += work.float_operations;
}

std::vector<ProfileLine> Profile::Lines(double seconds, const Ceilings& ceilings) const {
  std::vector<ProfileLine> lines;
  double rest = seconds;
  for (const auto& [operation, total] : totals_) {
    const OperationWork& work = total.work;
    const double multiplying = work.int8_operations / ceilings.int8_operations +
                               work.bf16_operations / ceilings.bf16_operations +
                               work.float_operations / ceilings.float_operations;
    const double least = std::max(work.bytes / ceilings.read_bytes, multiplying);
    lines.push_back({operation, total.calls, total.seconds, total.seconds / seconds, least / total.seconds});
    rest -= total.seconds;
  }
  std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  lines.push_back({"between operations", 0, rest, rest / seconds, 0.0});
  return lines;
}

}  // namespace inferflux::apps
