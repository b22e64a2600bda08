// An HTTP/1.1 server: a few I/O threads, one coroutine for each connection. Idle streams cost only memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "net/router.h"
#include "net/server_options.h"

namespace inferflux::net {

class Server {
 public:
  // Binds and starts to serve.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options, Router router);
  ~Server();  // stops without a grace period

  uint16_t port() const;
  // The number of open connections.
  size_t connections() const;

  // Stops accepting, lets current requests finish for at most `grace`, then tells the remaining handlers that their
  // client is gone, and returns when all have ended. Do not call it from an I/O thread. A second call does nothing.
  void Stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferflux::net
