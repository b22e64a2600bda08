// Reads one request from a connection within the server's limits. Private to net/.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.h"
#include "net/server_options.h"
#include "net/transport/stream.h"

namespace inferflux::net {

// A share of the server's budget for request bodies, released on destruction.
class BodyBudget {
 public:
  BodyBudget(std::atomic<size_t>& used, size_t limit) : used_(used), limit_(limit) {}
  ~BodyBudget() { used_.fetch_sub(taken_); }
  BodyBudget(const BodyBudget&) = delete;
  BodyBudget& operator=(const BodyBudget&) = delete;

  bool Take(size_t bytes) {
    taken_ += bytes;
    return used_.fetch_add(bytes) + bytes <= limit_;
  }

 private:
  std::atomic<size_t>& used_;
  const size_t limit_;
  size_t taken_ = 0;
};

struct ReadOutcome {
  enum class Kind { kRequest, kClosed, kRefused };
  Kind kind = Kind::kClosed;
  Request request;  // kRequest; path, query and parameters are still empty
  std::string target;
  bool keep_alive = false;
  bool http11 = true;
  // kRefused: a response, or a status with the reason in words.
  std::optional<Response> refusal;
  int status = 0;
  std::string message;
};

// Looks at the head of a request that has a body, and may complete it. A response refuses the request before its body
// is read.
using CheckHead = std::function<std::optional<Response>(Request& head, std::string_view target)>;

// Reads first from `buffer`, which must not be empty, then from `stream`. Bytes of a following request stay in
// `buffer`. Closes the connection of a client that is too slow, without an answer.
boost::asio::awaitable<ReadOutcome> ReadRequest(Stream& stream, boost::beast::flat_buffer& buffer,
                                                const ServerOptions& options, BodyBudget& budget,
                                                const CheckHead& check);

}  // namespace inferflux::net
