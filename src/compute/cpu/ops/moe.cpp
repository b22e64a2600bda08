#include <algorithm>
#include <numeric>

#include "compute/cpu/cpu_backend.h"
#include "compute/host/moe.h"

namespace inferflux::compute {

Result<Cpu::Experts> Cpu::LoadExperts(Context& context, std::span<const std::vector<HostMatrix>> parts) {
  return host::LoadExperts<Cpu>(context, parts);
}

std::string Cpu::DescribeExperts(const Experts& experts) { return host::DescribeExperts<Cpu>(experts); }

// Expert by expert: all lines of an expert share a matmul, because a row's result does not depend on other rows.
host::Buffer Cpu::ExpertMatMul(Context& context, View x, const Experts& experts, const Routing& routing) {
  Buffer out = context.arena.Allocate(routing.lines(), experts.front().rows);
  std::vector<int32_t> lines(static_cast<size_t>(routing.lines()));
  std::iota(lines.begin(), lines.end(), 0);
  std::stable_sort(lines.begin(), lines.end(),
                   [&](int32_t a, int32_t b) { return routing.experts[a] < routing.experts[b]; });
  for (size_t first = 0; first < lines.size();) {
    const int32_t expert = routing.experts[lines[first]];
    size_t last = first;
    while (last < lines.size() && routing.experts[lines[last]] == expert) ++last;
    Buffer input = context.arena.Allocate(static_cast<int64_t>(last - first), x.cols);
    for (size_t l = first; l < last; ++l) {
      std::copy_n(x.row(routing.source(x, lines[l])), x.cols, input.row(static_cast<int64_t>(l - first)));
    }
    const Buffer result = MatMul(context, input, experts[static_cast<size_t>(expert)]);
    for (size_t l = first; l < last; ++l) {
      std::copy_n(View(result).row(static_cast<int64_t>(l - first)), out.cols(), out.row(lines[l]));
    }
    first = last;
  }
  return out;
}

}  // namespace inferflux::compute
