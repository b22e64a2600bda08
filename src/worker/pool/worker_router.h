// Which of a model's workers a request goes to: the one with its session; else the one that was sent the longest prefix
// of its prompt, unless that one is busy while others are not; else the one with the fewest requests; else by a
// consistent hash of the prompt's beginning.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "scheduler/generation.h"
#include "worker/pool/prefix_index.h"

namespace inferflux::worker {

// A worker that may get the request.
struct RouteChoice {
  int worker = 0;         // its number
  int32_t in_flight = 0;  // its requests
};

struct Routed {
  int worker = 0;
  int32_t prefix_tokens = 0;  // of the prompt, that it was sent before
};

class WorkerRouter {
 public:
  // More requests than this ahead of the idlest worker outweigh a prefix.
  static constexpr int32_t kMostAhead = 8;

  // `choices` is not empty.
  Routed Route(const scheduler::GenerationRequest& request, std::span<const RouteChoice> choices);
  // The worker that computes the prompt only: the one with the fewest requests; among several, the one that was sent
  // the longest prefix of the prompt.
  int RoutePrefill(const scheduler::GenerationRequest& request, std::span<const RouteChoice> choices);
  // The most tokens of the prompt that one of these was sent before.
  int32_t LongestPrefix(const scheduler::GenerationRequest& request, std::span<const RouteChoice> choices);
  // The worker has ended: its sessions and prefixes are gone.
  void Forget(int worker);

 private:
  using SessionKey = std::pair<uint64_t, std::string>;  // salt and id
  static constexpr size_t kMostSessions = 65536;

  Routed Choose(const scheduler::GenerationRequest& request, std::span<const RouteChoice> choices);

  PrefixIndex prefixes_;
  std::map<SessionKey, int> sessions_;
  std::list<SessionKey> order_;  // the oldest first
};

}  // namespace inferflux::worker
