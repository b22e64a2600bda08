// An HTTP/1.1 server: a few I/O threads, a coroutine a connection. Idle streams cost memory only.
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
  ~Server();  // stops without grace

  uint16_t port() const;
  // Connections that are open now.
  size_t connections() const;

  // Stops accepting, lets requests that are being served finish for at most `grace`, then tells the rest that their
  // client is gone, and returns when all have ended. Not from an I/O thread. Calling it again does nothing.
  void Stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferflux::net
