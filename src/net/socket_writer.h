// The ResponseWriter of one request on a socket. Private to net/.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/response_writer.h"
#include "net/server_options.h"
#include "net/transport/stream.h"

namespace inferflux::net {

class SocketWriter final : public ResponseWriter {
 public:
  struct Wire {
    bool http11 = true;
    bool keep_alive = true;
    bool head_only = false;       // a HEAD request: send everything but the body
    std::string request_id;       // for X-Request-Id; empty: none
    std::vector<Header> headers;  // beside those of the response
  };
  // `gone` belongs to the connection. It and the other references must outlive this object.
  SocketWriter(Stream& stream, const ServerOptions& options, const std::shared_ptr<Notifier>& notifier, bool& gone,
               Wire wire);

  boost::asio::awaitable<void> Send(Response response) override;
  boost::asio::awaitable<bool> Begin(Response head) override;
  boost::asio::awaitable<bool> Write(std::string piece) override;
  boost::asio::awaitable<bool> End(std::string piece) override;
  bool Gone() const override { return gone_; }
  void Note(log::Field fact) override { facts_.push_back(std::move(fact)); }
  const std::shared_ptr<Notifier>& notifier() const override { return notifier_; }

  const std::vector<log::Field>& facts() const { return facts_; }
  int status() const { return status_; }                // 0: nothing sent yet
  bool complete() const { return complete_; }           // the whole response was sent
  bool keep_alive() const { return wire_.keep_alive; }  // another may follow

 private:
  std::string Head(const Response& response, std::string_view length) const;
  boost::asio::awaitable<void> Wait(std::chrono::milliseconds time);
  boost::asio::awaitable<bool> Put(std::string head, std::string body);
  std::string Chunk(std::string& piece) const;

  Stream& stream_;
  const ServerOptions& options_;
  const std::shared_ptr<Notifier>& notifier_;
  bool& gone_;
  Wire wire_;
  std::vector<log::Field> facts_;
  int status_ = 0;
  bool complete_ = false;
};

}  // namespace inferflux::net
