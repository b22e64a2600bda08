// How a run of ordinary text becomes tokens: one implementation an algorithm.
#pragma once

#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace inferflux::text {

class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  // Appends the tokens of `run`, any bytes at all, in which no whole token is left to match. `first`: nothing stands
  // before it. Never appends a control token. May be called from many threads at once.
  virtual void Encode(std::string_view run, bool first, std::vector<TokenId>& out) const = 0;
};

}  // namespace inferflux::text
