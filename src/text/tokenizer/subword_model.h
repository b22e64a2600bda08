// Converts a run of ordinary text to tokens: one implementation for each algorithm.
#pragma once

#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace inferflux::text {

class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  // Appends the tokens of `run`, any bytes, in which no whole token remains to be matched. `first`: nothing precedes
  // it. Never appends a control token. Thread-safe.
  virtual void Encode(std::string_view run, bool first, std::vector<TokenId>& out) const = 0;
};

}  // namespace inferflux::text
