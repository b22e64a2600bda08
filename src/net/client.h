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
  std::string body;  // sent as application/json where not empty
};

struct ClientResponse {
  int status = 0;
  std::vector<Header> headers;
  std::string body;  // empty where the pieces went to a callback
};

class Client {
 public:
  explicit Client(ServerAddress address) : address_(std::move(address)) {}

  std::chrono::milliseconds connect_timeout{5'000};
  // The longest silence that is borne while a response is awaited.
  std::chrono::milliseconds silence_timeout{600'000};
  // Asked about ten times a second while waiting; true gives the request up with kCancelled.
  std::function<bool()> should_stop;

  // The whole response, of at most kMaxBodyBytes.
  Result<ClientResponse> Send(const ClientRequest& request) const;
  // The body goes to `on_piece` as it comes, where the status is 2xx; it is returned whole where it is not.
  Result<ClientResponse> Stream(const ClientRequest& request, FunctionRef<void(std::string_view)> on_piece) const;

  static constexpr size_t kMaxBodyBytes = 64u << 20;
  const ServerAddress& address() const { return address_; }

 private:
  ServerAddress address_;
};

}  // namespace inferflux::net
