#include "server/request/access/login_guard.h"

#include <algorithm>

namespace inferflux::server {
namespace {

constexpr int kFree = 5;
constexpr std::chrono::milliseconds kFirst{50};
constexpr std::chrono::milliseconds kMost{2'000};
constexpr std::chrono::seconds kMemory{60};  // after which an address is as good as new
constexpr size_t kMaxPeers = 10'000;

}  // namespace

std::chrono::milliseconds LoginGuard::Failed(const std::string& peer, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (peers_.size() >= kMaxPeers && !peers_.contains(peer)) Forget(now);
  Failures& failures = peers_[peer];
  if (now - failures.last > kMemory) failures.count = 0;
  failures.last = now;
  ++failures.count;
  if (failures.count <= kFree) return std::chrono::milliseconds(0);
  const int doublings = std::min(failures.count - kFree - 1, 10);
  return std::min(kMost, kFirst * (1 << doublings));
}

// Bounds the memory: a guesser with more addresses than that is not slowed down by this.
void LoginGuard::Forget(Clock::time_point now) {
  std::erase_if(peers_, [&](const auto& entry) { return now - entry.second.last > kMemory; });
  if (peers_.size() >= kMaxPeers) peers_.clear();
}

}  // namespace inferflux::server
