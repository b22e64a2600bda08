// Requests and responses as plain values; hides the library that reads and writes them.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferflux::net {

struct Header {
  std::string name;
  std::string value;
};

// The first header with that name (case-insensitive), or empty.
std::string_view FindHeader(const std::vector<Header>& headers, std::string_view name);

class BodyAllowance;  // net/listening/body_allowance.h

struct Request {
  std::string method;  // "GET", "POST"
  std::string path;    // percent-decoded, without the query
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> parameters;  // the values of the route's {names}, percent-decoded
  std::vector<Header> headers;
  std::string body;
  std::string peer;  // the client's address, for logs
  std::string id;    // names the request in logs and in its answer's X-Request-Id; empty if the server gives none
  std::shared_ptr<BodyAllowance> allowance;  // that the check of its head attached; may be null
};

// Has constructors on purpose: GCC 12 destroys a temporary twice if an aggregate is brace-initialised inside a co_await
// expression, and handlers end with `co_await writer.Send({...})`.
struct Response {
  Response() = default;
  Response(int code, std::string type, std::string text = {})
      : status(code), content_type(std::move(type)), body(std::move(text)) {}

  int status = 200;
  std::string content_type = "application/json";
  std::vector<Header> headers;  // in addition to Content-Type, Content-Length, Date and Connection, which the server
                                // writes
  std::string body;
  std::chrono::milliseconds delay{0};  // how long the answer waits before it is sent
  std::string reason;                  // of a refusal, for the log; not sent
};

// "Not Found" for 404.
std::string_view ReasonPhrase(int status);

}  // namespace inferflux::net
