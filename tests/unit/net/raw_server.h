// A plain blocking socket that answers each connection with the bytes that a test chooses, and keeps what it was sent.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace inferflux::testing {

class RawServer {
 public:
  // Reads one head of each connection, sends the next answer, and closes.
  explicit RawServer(std::vector<std::string> answers) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t length = sizeof own;
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &length), 0);
    port_ = ntohs(own.sin_port);
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) Serve(answer);
    });
  }
  ~RawServer() {
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  uint16_t port() const { return port_; }
  // What each connection sent, once all answers are given.
  const std::vector<std::string>& requests() {
    if (thread_.joinable()) thread_.join();
    return requests_;
  }

 private:
  void Serve(std::string_view answer) {
    pollfd wait{listener_, POLLIN, 0};
    if (::poll(&wait, 1, 10'000) != 1) return;  // the client never came
    const int connection = ::accept(listener_, nullptr, nullptr);
    std::string got;
    char piece[4096];
    while (got.find("\r\n\r\n") == std::string::npos) {
      const ssize_t read = ::recv(connection, piece, sizeof piece, 0);
      if (read <= 0) break;
      got.append(piece, static_cast<size_t>(read));
    }
    requests_.push_back(std::move(got));
    while (!answer.empty()) {
      const ssize_t sent = ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      answer.remove_prefix(static_cast<size_t>(sent));
    }
    ::shutdown(connection, SHUT_WR);
    while (::recv(connection, piece, sizeof piece, 0) > 0) {
    }
    ::close(connection);
  }

  int listener_;
  uint16_t port_ = 0;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace inferflux::testing
