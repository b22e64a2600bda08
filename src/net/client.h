// An HTTP/1.1 client for command lines: one request at a time, on the caller's thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "net/http_message.h"
#include "net/url.h"

namespace inferflux::net {

struct ClientRequest {
  std::string method = "GET";
  std::string target;  // appended to the address's base path
  std::vector<Header> headers;
  std::string body;  // sent as application/json unless empty
};

struct ClientResponse {
  int status = 0;
  std::vector<Header> headers;
  std::string body;  // empty if a callback received the pieces
};

class Client {
 public:
  explicit Client(ServerAddress address) : address_(std::move(address)) {}

  std::chrono::milliseconds connect_timeout{5'000};
  // The longest silence allowed while waiting for a response.
  std::chrono::milliseconds silence_timeout{600'000};
  // Called about ten times a second while waiting; returning true cancels the request with kCancelled.
  std::function<bool()> should_stop;

  // Returns the whole response, of at most kMaxBodyBytes.
  Result<ClientResponse> Send(const ClientRequest& request) const;
  // If the status is 2xx, passes the body to `on_piece` as it arrives; otherwise returns it whole.
  Result<ClientResponse> Stream(const ClientRequest& request, FunctionRef<void(std::string_view)> on_piece) const;

  static constexpr size_t kMaxBodyBytes = 64u << 20;
  const ServerAddress& address() const { return address_; }

 private:
  ServerAddress address_;
};

}  // namespace inferflux::net
