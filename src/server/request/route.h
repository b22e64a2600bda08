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

// What answers: at once, or over several turns of the event loop, with the caller where it matters who that is.
using Answer = net::Response (*)(Services&, const net::Request&);
using Task = boost::asio::awaitable<void> (*)(Services&, const net::Request&, net::ResponseWriter&);
using CallerTask = boost::asio::awaitable<void> (*)(Services&, const Caller&, const net::Request&,
                                                    net::ResponseWriter&);

enum class Access : uint8_t {
  kOpen,  // anyone
  // Where the server asks for keys, a key with the scope of that name:
  kRead,
  kGenerate,
  kAdmin,  // and never a web page
};

struct Route {
  std::string_view method;
  std::string_view path;  // as net::Router has it
  Access access = Access::kOpen;
  std::variant<Answer, Task, CallerTask> run;
};

struct Api {
  std::span<const Route> routes;
  net::Response (*refuse)(const ApiError&) = ErrorResponse;  // a caller without the right key
  // A header that may hold the key by itself; the usual one is "Authorization: Bearer KEY". Empty: none.
  std::string_view key_header = {};
};

}  // namespace inferflux::server
