#include "net/transport/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace inferflux::net {

Status MakeWayForUnixSocket(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) {
    return Fail(ErrorCode::kInvalidArgument, "server.unix_socket {}: the path of a socket has at most {} bytes", path,
                sizeof address.sun_path - 1);
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};  // what else is wrong, listening will tell
  if (!S_ISSOCK(info.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "server.unix_socket {}: there is a file that is not a socket", path);
  }
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return Fail(ErrorCode::kIo, "server.unix_socket {}: {}", path, std::strerror(errno));
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int failed = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int reason = errno;
  ::close(probe);
  if (failed == 0)
    return Fail(ErrorCode::kInvalidArgument, "server.unix_socket {}: another server answers there", path);
  // Only this answer says that its server has ended; a socket that may not be opened belongs to a living one.
  if (reason != ECONNREFUSED) {
    return Fail(ErrorCode::kIo, "server.unix_socket {}: cannot see whether a server answers there: {}", path,
                std::strerror(reason));
  }
  if (::unlink(path.c_str()) != 0) {
    return Fail(ErrorCode::kIo, "server.unix_socket {}: cannot remove the old socket: {}", path, std::strerror(errno));
  }
  return {};
}

}  // namespace inferflux::net
