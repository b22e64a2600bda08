// One client's connection: reads requests and lets handlers answer them, one after another. Private to net/.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>

#include "net/notifier.h"
#include "net/request_reader.h"
#include "net/router.h"
#include "net/server_options.h"
#include "net/socket_writer.h"
#include "net/transport/stream.h"

namespace inferflux::net {

// State that all connections of a server share.
struct ServerContext {
  ServerOptions options;
  Router router;
  std::atomic<size_t> buffered_bytes{0};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // The socket's executor must be a strand that it does not share. `peer` names the client in logs.
  Connection(Stream::Socket socket, std::string peer, ServerContext& context);

  // Serves until the connection ends.
  boost::asio::awaitable<void> Run();
  // Any thread. Ends the connection after the current request, or at once if there is none.
  void Drain();
  // Any thread. Ends the connection now; a waiting handler is told that its client is gone.
  void Abort();

 private:
  boost::asio::awaitable<bool> AwaitFirstByte();
  boost::asio::awaitable<bool> ServeOne();
  boost::asio::awaitable<bool> Answer(ReadOutcome& outcome, std::chrono::steady_clock::time_point begin);
  // The client's own id if it is a plain word, else a new one.
  std::string RequestId(const Request& head) const;
  std::optional<Response> Refusal(Request& head, std::string_view target) const;
  // The answer where no route takes the request.
  Response Unrouted(const Router::Match& match, const std::string& method, const std::string& path) const;
  boost::asio::awaitable<void> Dispatch(ReadOutcome& outcome, SocketWriter& writer, std::string& route);
  boost::asio::awaitable<void> CallHandler(const Handler& handler, const Request& request, SocketWriter& writer);
  void StartWatch();
  boost::asio::awaitable<void> StopWatch();
  boost::asio::awaitable<void> Watch();
  boost::asio::awaitable<void> Close();

  Stream stream_;
  boost::beast::flat_buffer buffer_;
  ServerContext& context_;
  std::shared_ptr<Notifier> notifier_;
  std::shared_ptr<Notifier> watch_ended_;
  boost::asio::cancellation_signal stop_watch_;
  std::string peer_;
  bool watching_ = false;
  bool gone_ = false;
  bool draining_ = false;
  bool idle_ = true;  // no request has begun to arrive
  bool served_ = false;
};

}  // namespace inferflux::net
