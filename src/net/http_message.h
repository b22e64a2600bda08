// Requests and responses as plain values; nothing of the library that reads and writes them shows here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferflux::net {

struct Header {
  std::string name;
  std::string value;
};

// The first header of that name (names do not differ by case), or empty.
std::string_view FindHeader(const std::vector<Header>& headers, std::string_view name);

struct Request {
  std::string method;  // "GET", "POST"
  std::string path;    // percent-decoded, without the query
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> parameters;  // what the route's {names} matched, percent-decoded
  std::vector<Header> headers;
  std::string body;
  std::string peer;  // the client's address, for logs
};

// Has constructors on purpose: GCC 12 destroys a temporary twice where an aggregate is brace-initialised inside a
// co_await expression, and `co_await writer.Send({...})` is how handlers end.
struct Response {
  Response() = default;
  Response(int code, std::string type, std::string text = {})
      : status(code), content_type(std::move(type)), body(std::move(text)) {}

  int status = 200;
  std::string content_type = "application/json";
  std::vector<Header> headers;  // beside Content-Type, Content-Length, Date and Connection, which the server writes
  std::string body;
};

// "Not Found" for 404.
std::string_view ReasonPhrase(int status);

}  // namespace inferflux::net
