#include "collective/shared_memory/peer_watch.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#ifdef __linux__
#include <sys/syscall.h>
#endif

namespace inferflux::collective {

PeerWatch::~PeerWatch() {
  for (const Peer& peer : peers_) {
    if (peer.descriptor >= 0) ::close(peer.descriptor);
  }
}

bool PeerWatch::IsAlive(int32_t rank, pid_t process) {
  if (process <= 0 || process == ::getpid()) return true;
  Peer& peer = peers_[static_cast<size_t>(rank)];
  if (peer.process != process) {
    if (peer.descriptor >= 0) ::close(peer.descriptor);
    peer = {.process = process, .descriptor = -1};
#ifdef SYS_pidfd_open
    peer.descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    if (peer.descriptor < 0 && errno == ESRCH) return false;
#endif
  }
  if (peer.descriptor < 0) return ::kill(process, 0) == 0 || errno == EPERM;
  pollfd ended{.fd = peer.descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) == 0;
}

}  // namespace inferflux::collective
