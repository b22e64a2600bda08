// A plain blocking socket, to send a server exactly the bytes that a test chooses.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace inferflux::testing {

class RawClient {
 public:
  explicit RawClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~RawClient() { Close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // False if the peer has closed.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // The peer reads the end, and may still answer.
  void EndSending() { ::shutdown(fd_, SHUT_WR); }
  // Everything up to and including `end`. If the peer closes or `limit` has passed, what has arrived until then,
  // without `end`.
  std::string ReadUntil(std::string_view end, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    const auto until = std::chrono::steady_clock::now() + limit;
    for (;;) {
      if (const size_t at = pending_.find(end); !end.empty() && at != std::string::npos) {
        const std::string out = pending_.substr(0, at + end.size());
        pending_.erase(0, at + end.size());
        return out;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      pollfd wait{fd_, POLLIN, 0};
      char piece[4096];
      ssize_t got = 0;
      if (left.count() > 0 && ::poll(&wait, 1, static_cast<int>(left.count())) > 0)
        got = ::recv(fd_, piece, sizeof piece, 0);
      if (got <= 0) {
        closed_ = left.count() > 0 && got <= 0;
        reset_ = got < 0;
        return std::exchange(pending_, {});
      }
      pending_.append(piece, static_cast<size_t>(got));
    }
  }
  std::string ReadToEnd(std::chrono::milliseconds limit = std::chrono::seconds(10)) { return ReadUntil("", limit); }
  // Whether the last read found that the peer has closed.
  bool closed() const { return closed_; }
  // Whether it has thrown away what this client had sent.
  bool reset() const { return reset_; }
  uint16_t own_port() const {
    sockaddr_in own{};
    socklen_t length = sizeof own;
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &length), 0);
    return ntohs(own.sin_port);
  }

 private:
  int fd_;
  bool connected_ = false;
  bool closed_ = false;
  bool reset_ = false;
  std::string pending_;
};

}  // namespace inferflux::testing
