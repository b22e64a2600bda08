// How many connections each address has, for a limit of each. Any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace inferflux::net {

// What counts as one client: an IPv4 address, or the first 64 bits of an IPv6 address, because a client has all
// addresses with those. Other names of a peer stay as they are.
std::string ClientAddress(const std::string& peer);

class PeerConnections {
 public:
  // 0: no limit.
  explicit PeerConnections(size_t limit) : limit_(limit) {}

  // False if the client has as many as it may. Else a Leave must follow.
  bool Enter(const std::string& client) {
    const std::lock_guard lock(mutex_);
    size_t& open = open_[client];
    if (limit_ > 0 && open >= limit_) return false;
    ++open;
    return true;
  }
  void Leave(const std::string& client) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(client);
    if (found != open_.end() && --found->second == 0) open_.erase(found);
  }

 private:
  const size_t limit_;
  std::mutex mutex_;
  std::unordered_map<std::string, size_t> open_;  // none is 0
};

}  // namespace inferflux::net
