// A port of this machine that takes connections and never answers.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace inferflux::testing {

class SilentPort {
 public:
  SilentPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(file_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(file_, 4), 0);
    EXPECT_EQ(::getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentPort() { ::close(file_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  uint16_t port() const { return port_; }
  // Waits for a client, and for the first byte that it sends. The caller closes what it returns.
  int AwaitRequest() const {
    const int client = ::accept(file_, nullptr, nullptr);
    char byte = 0;
    EXPECT_EQ(::recv(client, &byte, 1, 0), 1);
    return client;
  }

 private:
  const int file_ = ::socket(AF_INET, SOCK_STREAM, 0);
  uint16_t port_ = 0;
};

}  // namespace inferflux::testing
