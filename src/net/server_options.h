// What a server allows each client, and the wording of its own refusals.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_line.h"
#include "base/result.h"
#include "net/http_message.h"
#include "net/transport/tls_context.h"

namespace inferflux::net {

// What is known of a request once it is answered.
struct Answered {
  std::string_view method;
  std::string_view target;  // without its query, which may hold secrets
  std::string_view route;   // the pattern, "" if none matched
  std::string_view peer;
  std::string_view request_id;
  std::span<const log::Field> facts;     // that its handler noted
  int status = 0;                        // 0: the client left before an answer
  bool complete = false;                 // the whole answer was sent
  std::chrono::microseconds duration{};  // from its first byte to the end of the answer
};

struct ServerOptions {
  std::shared_ptr<TlsContext> tls;  // null: plain HTTP
  std::string unix_socket;          // a path to listen on too; empty: none
  std::string host = "127.0.0.1";
  uint16_t port = 0;  // 0: any free port; Server::port() returns it
  int io_threads = 2;

  size_t max_connections = 16384;
  size_t max_peer_connections = 0;  // of one address; further ones are closed at once. 0: no limit
  size_t max_header_bytes = 32u << 10;
  size_t max_body_bytes = 32u << 20;
  size_t max_buffered_bytes = 512u << 20;  // for the bodies of all requests that are being read or served

  std::chrono::milliseconds header_timeout{10'000};  // from the first byte of a request to the end of its head
  std::chrono::milliseconds idle_timeout{75'000};    // between two requests on one connection
  // A body must arrive within this time plus one second for each min_body_rate bytes of it.
  std::chrono::milliseconds body_timeout{30'000};
  size_t min_body_rate = 64u << 10;
  std::chrono::milliseconds write_timeout{30'000};  // how long a client may refuse to read
  std::chrono::milliseconds abort_time{5'000};      // how long a stop waits for handlers that were told to give up

  // Makes the response if no handler answers: bad requests, unknown paths, limits, a handler that threw. `target` is
  // the request's target, path and query unchanged; empty if it could not be read.
  std::function<Response(int status, std::string_view message, std::string_view target)> error_response =
      [](int status, std::string_view text, std::string_view) {
        return Response(status, "text/plain; charset=utf-8", std::string(text) + "\n");
      };
  // Called with the address that `host` resolved to, before the server listens on it. An error ends the start.
  std::function<Status(const std::string& address, bool loopback)> check_address;
  // Makes the id of a request whose client gave none (in X-Request-Id). Unset: requests have no ids.
  std::function<std::string()> make_request_id;
  // Headers that the answer to a request has whatever answers it.
  std::function<std::vector<Header>(const Request&)> more_headers;
  // Called for each connection that is closed at once, because its address has as many as it may.
  std::function<void()> on_peer_full;
  // Called after each answered request, on an I/O thread.
  std::function<void(const Answered&)> on_answered;
};

}  // namespace inferflux::net
