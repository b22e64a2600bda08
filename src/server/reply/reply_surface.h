// Turns one request's generations into the reply of one API: its envelope, event names, errors, usage and stream
// terminator. All APIs share the loop that waits for events and for the client (reply_loop.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "net/http_message.h"
#include "scheduler/generation.h"
#include "server/reply/reply_totals.h"
#include "server/request/api_error.h"

namespace inferflux::server {

// The head of a stream of server-sent events.
net::Response EventStreamHead();

class ReplySurface {
 public:
  virtual ~ReplySurface() = default;

  // An error before any part of the reply was sent.
  virtual net::Response Refusal(const ApiError& error) const = 0;

  // A reply that is sent whole, from everything that was generated: one event for each answer, with its finish.
  virtual net::Response Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) = 0;

  // A streamed reply. All functions append their bytes to `out`. Either End or Fail is called last, once.
  virtual net::Response Head() const;        // server-sent events, unless the API uses another format
  virtual void Begin(std::string& out) = 0;  // sent together with the first event
  virtual void Append(size_t index, const scheduler::StreamEvent& event, std::string& out) = 0;
  virtual void End(const ReplyTotals& totals, std::string& out) = 0;
  virtual void Fail(const ApiError& error, std::string& out) = 0;
};

}  // namespace inferflux::server
