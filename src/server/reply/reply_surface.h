// How one request's generations become the reply of one API: its envelope, its event names, its errors, its usage and
// what ends its streams. The loop that waits for events and for the client is the same for all (reply_loop.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "net/http_message.h"
#include "scheduler/generation.h"
#include "server/reply/reply_totals.h"
#include "server/request/api_error.h"

namespace inferflux::server {

class ReplySurface {
 public:
  virtual ~ReplySurface() = default;

  // An error before anything of the reply was sent.
  virtual net::Response Refusal(const ApiError& error) const = 0;

  // A reply that is sent whole, from everything that was generated: one event an answer, with its finish.
  virtual net::Response Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) = 0;

  // A streamed one. All append the bytes of what they say to `out`; either End or Fail comes last, once.
  virtual net::Response Head() const;        // server-sent events, unless the API has others
  virtual void Begin(std::string& out) = 0;  // sent together with what comes first
  virtual void Append(size_t index, const scheduler::StreamEvent& event, std::string& out) = 0;
  virtual void End(const ReplyTotals& totals, std::string& out) = 0;
  virtual void Fail(const ApiError& error, std::string& out) = 0;
};

}  // namespace inferflux::server
