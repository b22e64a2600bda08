// A client's share of the memory for request bodies. The check of a request's head attaches one to the request
// (Router::HeadCheck), and it lives as long as the request.
#pragma once

#include <cstddef>
#include <optional>

#include "net/http_message.h"

namespace inferflux::net {

class BodyAllowance {
 public:
  virtual ~BodyAllowance() = default;
  // `bytes` more of the body: first its announced length, before any of it is read, then what comes beyond that. A
  // response refuses the request.
  virtual std::optional<Response> Take(size_t bytes) = 0;
};

}  // namespace inferflux::net
