#include "worker/pool/worker_router.h"

#include <algorithm>

#include "base/mix64.h"

namespace inferflux::worker {
namespace {

// Rendezvous hashing: when a worker goes, only its own requests move (D. Thaler and C. Ravishankar, 1998).
uint64_t Weight(const scheduler::GenerationRequest& request, int worker) {
  uint64_t out = Mix64(request.cache_salt);
  const size_t count = std::min(request.prompt.size(), PrefixIndex::kBlock);
  for (size_t i = 0; i < count; ++i) out = Mix64(out ^ static_cast<uint64_t>(static_cast<uint32_t>(request.prompt[i])));
  return Mix64(out ^ Mix64(static_cast<uint64_t>(worker) + 1));
}

}  // namespace

Routed WorkerRouter::Choose(const scheduler::GenerationRequest& request, std::span<const RouteChoice> choices) {
  const auto matched = prefixes_.Match(request.prompt, request.cache_salt);
  const auto prefix_of = [&](int worker) {
    const auto found = matched.find(worker);
    return found == matched.end() ? 0 : found->second;
  };
  if (request.session) {
    const auto found = sessions_.find({request.cache_salt, request.session->id});
    if (found != sessions_.end() && std::ranges::find(choices, found->second, &RouteChoice::worker) != choices.end()) {
      return {found->second, prefix_of(found->second)};
    }
  }
  const int32_t least = std::ranges::min(choices, {}, &RouteChoice::in_flight).in_flight;
  const RouteChoice* best = nullptr;
  const auto better = [&](const RouteChoice& a, const RouteChoice& b) {
    const int32_t a_prefix = a.in_flight - least > kMostAhead ? 0 : prefix_of(a.worker);
    const int32_t b_prefix = b.in_flight - least > kMostAhead ? 0 : prefix_of(b.worker);
    if (a_prefix != b_prefix) return a_prefix > b_prefix;
    if (a.in_flight != b.in_flight) return a.in_flight < b.in_flight;
    return Weight(request, a.worker) > Weight(request, b.worker);
  };
  for (const RouteChoice& choice : choices) {
    if (best == nullptr || better(choice, *best)) best = &choice;
  }
  return {best->worker, prefix_of(best->worker)};
}

Routed WorkerRouter::Route(const scheduler::GenerationRequest& request, std::span<const RouteChoice> choices) {
  const Routed out = Choose(request, choices);
  prefixes_.Insert(request.prompt, request.cache_salt, out.worker);
  if (request.session) {
    SessionKey key{request.cache_salt, request.session->id};
    const auto [found, fresh] = sessions_.insert_or_assign(key, out.worker);
    if (fresh) order_.push_back(std::move(key));
    if (order_.size() > kMostSessions) {
      sessions_.erase(order_.front());
      order_.pop_front();
    }
  }
  return out;
}

int WorkerRouter::RoutePrefill(const scheduler::GenerationRequest& request, std::span<const RouteChoice> choices) {
  const auto matched = prefixes_.Match(request.prompt, request.cache_salt);
  const auto rank = [&](const RouteChoice& choice) {
    const auto found = matched.find(choice.worker);
    return std::pair(choice.in_flight, found == matched.end() ? 0 : -found->second);
  };
  const int out = std::ranges::min(choices, {}, rank).worker;
  prefixes_.Insert(request.prompt, request.cache_salt, out);
  return out;
}

int32_t WorkerRouter::LongestPrefix(const scheduler::GenerationRequest& request, std::span<const RouteChoice> choices) {
  int32_t out = 0;
  for (const auto& [worker, tokens] : prefixes_.Match(request.prompt, request.cache_salt)) {
    if (std::ranges::find(choices, worker, &RouteChoice::worker) != choices.end()) out = std::max(out, tokens);
  }
  return out;
}

void WorkerRouter::Forget(int worker) {
  prefixes_.Forget(worker);
  // Forgotten keys stay in the order until they are the oldest.
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second == worker; });
}

}  // namespace inferflux::worker
