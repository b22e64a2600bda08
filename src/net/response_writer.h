// How a handler answers: one whole response, or a head and then pieces of a body as they come.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "net/http_message.h"
#include "net/notifier.h"

namespace inferflux::net {

class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;

  // The whole response at once.
  virtual boost::asio::awaitable<void> Send(Response response) = 0;

  // A streamed one: Begin (the response's body is not used), Write any number of times, End. Each is false once the
  // client has gone or does not read for longer than the write timeout; the handler then gives up.
  virtual boost::asio::awaitable<bool> Begin(Response head) = 0;
  virtual boost::asio::awaitable<bool> Write(std::string piece) = 0;
  virtual boost::asio::awaitable<bool> End() = 0;

  // True once the client has closed the connection, or the server must stop now. Known without any write: the
  // connection is watched while the handler waits.
  virtual bool Gone() const = 0;
  // The notifier that a handler waits on for its own events; it also rings when Gone() becomes true.
  virtual const std::shared_ptr<Notifier>& notifier() const = 0;
};

using Handler = std::function<boost::asio::awaitable<void>(const Request&, ResponseWriter&)>;

}  // namespace inferflux::net
