// One path of an API. Each API's folder lists its paths in a table, and routes.cpp lists the APIs.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

// The handler: it answers at once or as a coroutine, and receives the caller if it needs it.
using Answer = net::Response (*)(Services&, const net::Request&);
using Task = boost::asio::awaitable<void> (*)(Services&, const net::Request&, net::ResponseWriter&);
using CallerTask = boost::asio::awaitable<void> (*)(Services&, const Caller&, const net::Request&,
                                                    net::ResponseWriter&);

enum class Access : uint8_t {
  kOpen,  // anyone
  // If the server requires keys, a key with the scope of that name:
  kRead,
  kMetrics,  // metrics or read; or anyone, if server.open_metrics says so
  kGenerate,
  kAdmin,  // not from the pages of other web sites, unless server.allowed_origins lists them
};

struct Route {
  std::string_view method;
  std::string_view path;  // in the syntax of net::Router
  Access access = Access::kOpen;
  std::variant<Answer, Task, CallerTask> run;
};

struct Api {
  std::span<const Route> routes;
  net::Response (*refuse)(const ApiError&) = ErrorResponse;  // for callers without the right key
  // A header that may contain the bare key, as an alternative to "Authorization: Bearer KEY". Empty: none.
  std::string_view key_header = {};
  // Paths below it have this API's errors, even where no route is. Empty: only the paths of routes.
  std::string_view prefix = {};
};

}  // namespace inferflux::server
