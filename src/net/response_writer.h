// How a handler answers: one whole response, or a head followed by pieces of a body.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/log_line.h"
#include "net/http_message.h"
#include "net/notifier.h"

namespace inferflux::net {

class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;

  // Sends the whole response.
  virtual boost::asio::awaitable<void> Send(Response response) = 0;

  // A streamed response: Begin (with the first piece as its body), Write any number of times, End (with the last
  // piece, which may be empty: one write to the socket, which wakes the client once). Each is false once
  // the client has disconnected or has not read for longer than the write timeout; the handler then stops.
  virtual boost::asio::awaitable<bool> Begin(Response head) = 0;
  virtual boost::asio::awaitable<bool> Write(std::string piece) = 0;
  virtual boost::asio::awaitable<bool> End(std::string piece) = 0;

  // True once the client has disconnected, or the server must stop now. Needs no write: the connection is watched while
  // the handler waits.
  virtual bool Gone() const = 0;
  // Adds a fact to what the server's log says of this request. Never what a prompt or a key holds.
  virtual void Note(log::Field /*fact*/) {}
  // The notifier on which a handler waits for its own events; it also fires when Gone() becomes true.
  virtual const std::shared_ptr<Notifier>& notifier() const = 0;
};

using Handler = std::function<boost::asio::awaitable<void>(const Request&, ResponseWriter&)>;

}  // namespace inferflux::net
