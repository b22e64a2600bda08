#include "scheduler/step_sharing.h"

#include <algorithm>
#include <map>

namespace inferflux::scheduler {
namespace {

constexpr double kWorthwhile = 0.5;  // of the time of a step with all rows
constexpr double kEfficient = 1.5;   // of the time of a row in the best step

}  // namespace

void StepSharing::Look(const Workload& load, TimePoint now) {
  const auto see = [&](const Request& request) {
    const bool other = last_seen_ && now - *last_seen_ < kMemory && request.spec.account != last_;
    if (other) last_shared_ = now;
    last_ = request.spec.account;
    last_seen_ = now;
  };
  for (const auto& request : load.running) see(*request);
  load.waiting.ForFirst(see);
}

int32_t StepSharing::PromptRows(int32_t step_tokens) const {
  const auto best = times_.BestRow();
  int32_t rows = kLeastPromptRows;
  while (best && rows < step_tokens) {
    const auto seconds = times_.Seconds(rows);
    if (!seconds || *seconds <= kEfficient * *best * rows) break;  // a size that was not seen is tried
    rows *= 2;
  }
  return std::min(rows, step_tokens);
}

std::set<std::string> StepSharing::SitOut(const Workload& load, const Request* next, int32_t step_tokens) const {
  std::map<std::string, int64_t> rows;  // of each account
  const Request* first = next;          // a prompt of the account that was served least
  const auto served = [&](const std::string& account) { return load.shares.served(account); };
  for (const auto& request : load.running) {
    if (request->stream->full()) continue;
    const std::string& account = request->spec.account;
    rows[account] += request->remaining();
    if (request->decoding()) continue;
    if (first == nullptr || served(account) < served(first->spec.account)) first = request.get();
  }
  load.waiting.ForFirst([&](const Request& request) { rows[request.spec.account] += request.remaining(); });
  if (first == nullptr) return {};

  const std::string& least = first->spec.account;
  std::set<std::string> out;
  int64_t with = 0, without = 0;
  for (const auto& [account, count] : rows) {
    const bool more = served(account) > served(least) && count > rows[least];
    if (more) out.insert(account);
    (more ? without : with) += count;
  }
  without = std::min<int64_t>(without, std::max<int64_t>(step_tokens, std::ssize(load.running)));
  if (out.empty() || with > step_tokens) return {};
  const auto together = times_.Seconds(static_cast<int32_t>(with + without));
  const auto alone = times_.Seconds(static_cast<int32_t>(with));  // if it was not seen, it is tried
  const bool worthwhile = together && (!alone || *alone < kWorthwhile * *together);
  return worthwhile ? out : std::set<std::string>{};
}

}  // namespace inferflux::scheduler
