// Takes the place of a client's connection: keeps the reply of a handler, and is "gone" once it is cancelled.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/response_writer.h"

namespace inferflux::server {

class CapturedReply final : public net::ResponseWriter {
 public:
  explicit CapturedReply(boost::asio::any_io_executor strand)
      : notifier_(std::make_shared<net::Notifier>(std::move(strand))) {}

  boost::asio::awaitable<void> Send(net::Response response) override {
    reply_ = std::move(response);
    co_return;
  }
  boost::asio::awaitable<bool> Begin(net::Response head) override {
    reply_ = std::move(head);
    co_return !Gone();
  }
  boost::asio::awaitable<bool> Write(std::string piece) override {
    if (reply_) reply_->body += piece;
    co_return !Gone();
  }
  boost::asio::awaitable<bool> End(std::string piece) override { return Write(std::move(piece)); }
  bool Gone() const override { return cancelled_; }
  const std::shared_ptr<net::Notifier>& notifier() const override { return notifier_; }

  // Any thread.
  void Cancel() {
    cancelled_ = true;
    notifier_->Notify();
  }
  // None if the handler sent nothing, because it was cancelled.
  const std::optional<net::Response>& reply() const { return reply_; }

 private:
  std::shared_ptr<net::Notifier> notifier_;
  std::atomic<bool> cancelled_{false};
  std::optional<net::Response> reply_;
};

}  // namespace inferflux::server
