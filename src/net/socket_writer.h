// The ResponseWriter of one request on a socket. Private to net/.
#pragma once

#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <string>

#include "net/response_writer.h"
#include "net/server_options.h"

namespace inferflux::net {

class SocketWriter final : public ResponseWriter {
 public:
  struct Wire {
    bool http11 = true;
    bool keep_alive = true;
    bool head_only = false;  // a HEAD request: send everything but the body
    std::string request_id;  // for X-Request-Id; empty: none
  };
  // `gone` belongs to the connection. It and the other references must outlive this object.
  SocketWriter(boost::beast::tcp_stream& stream, const ServerOptions& options,
               const std::shared_ptr<Notifier>& notifier, bool& gone, Wire wire);

  boost::asio::awaitable<void> Send(Response response) override;
  boost::asio::awaitable<bool> Begin(Response head) override;
  boost::asio::awaitable<bool> Write(std::string piece) override;
  boost::asio::awaitable<bool> End() override;
  bool Gone() const override { return gone_; }
  const std::shared_ptr<Notifier>& notifier() const override { return notifier_; }

  int status() const { return status_; }       // 0: nothing sent yet
  bool complete() const { return complete_; }  // the whole response was sent, and another may follow

 private:
  std::string Head(const Response& response, std::string_view length) const;
  boost::asio::awaitable<bool> Put(std::string head, std::string body);

  boost::beast::tcp_stream& stream_;
  const ServerOptions& options_;
  const std::shared_ptr<Notifier>& notifier_;
  bool& gone_;
  const Wire wire_;
  int status_ = 0;
  bool complete_ = false;
};

}  // namespace inferflux::net
