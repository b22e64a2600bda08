// Whether the other ranks' processes are alive. A process that has ended and that its parent has not waited for yet
// counts as dead.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "collective/collective.h"

namespace inferflux::collective {

class PeerWatch {
 public:
  explicit PeerWatch(int32_t ranks) : peers_(static_cast<size_t>(ranks)) {}
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // `process`: the rank's; 0: not known yet, which counts as alive.
  bool IsAlive(int32_t rank, pid_t process);

 private:
  struct Peer {
    pid_t process = 0;
    int descriptor = -1;  // of the process, on Linux
  };
  std::vector<Peer> peers_;
};

}  // namespace inferflux::collective
