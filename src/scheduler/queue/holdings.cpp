#include "scheduler/queue/holdings.h"

#include <algorithm>

namespace inferflux::scheduler {
namespace {

// The service that an account must be ahead before it gives way to an account that holds as much. A switch costs the
// computation of the loser's tokens, which is faster than their generation was, so a slice is at least half as long.
constexpr int64_t kTimeSlice = 512;

// `running` is in order of rank.
Request* LowestOf(const std::vector<RequestPtr>& running, const std::string& account) {
  for (auto request = running.rbegin(); request != running.rend(); ++request) {
    if ((*request)->spec.account == account) return request->get();
  }
  return nullptr;
}

Holding HoldingOf(const std::vector<Holding>& holdings, const std::string& account) {
  const auto found = std::ranges::find(holdings, account, &Holding::account);
  return found == holdings.end() ? Holding{.account = account} : *found;
}

}  // namespace

std::vector<Holding> HoldingsOf(const std::vector<RequestPtr>& running) {
  std::vector<Holding> out;
  for (const auto& request : running) {
    auto found = std::ranges::find(out, request->spec.account, &Holding::account);
    if (found == out.end()) found = out.insert(out.end(), Holding{.account = request->spec.account});
    ++found->sequences;
    found->tokens += request->total();
  }
  return out;
}

int32_t SequencesOf(const std::vector<RequestPtr>& running, const std::string& account) {
  return static_cast<int32_t>(
      std::ranges::count_if(running, [&](const auto& request) { return request->spec.account == account; }));
}

Request* GivesWay(const std::vector<RequestPtr>& running, const Request& waiting, Shortage shortage,
                  const TokenShares& shares) {
  const auto holdings = HoldingsOf(running);
  const Holding own = HoldingOf(holdings, waiting.spec.account);
  const auto held = [&](const Holding& holding) {
    return shortage == Shortage::kSequences ? int64_t{holding.sequences} : holding.tokens;
  };
  const Holding* most = nullptr;
  for (const Holding& holding : holdings) {
    if (holding.account == own.account) continue;
    if (most == nullptr || held(holding) > held(*most)) most = &holding;
  }
  if (most == nullptr) return nullptr;
  const int64_t ahead = shares.served(most->account) - shares.served(own.account);
  if (ahead <= 0) return nullptr;
  Request* lowest = LowestOf(running, most->account);
  const bool holds_more = shortage == Shortage::kSequences ? most->sequences >= own.sequences + 2
                                                           : most->tokens > 4 * (own.tokens + waiting.total());
  if (holds_more) return lowest;
  const bool holds_less =
      shortage == Shortage::kSequences ? most->sequences <= own.sequences : most->tokens <= own.tokens;
  if (holds_less) return nullptr;
  return ahead > std::max<int64_t>(kTimeSlice, lowest->total() / 2) ? lowest : nullptr;
}

Request& LosesRoom(const std::vector<RequestPtr>& running) {
  const auto holdings = HoldingsOf(running);
  if (holdings.size() == 1) return *running.back();
  return *LowestOf(running, std::ranges::max_element(holdings, {}, &Holding::tokens)->account);
}

}  // namespace inferflux::scheduler
