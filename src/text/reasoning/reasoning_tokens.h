// Counts the tokens of an answer's reasoning, its markers included.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/reasoning/reasoning_parser.h"

namespace inferflux::text {

class ReasoningTokens {
 public:
  // As for ReasoningParser.
  ReasoningTokens(const ReasoningForm& form, bool inside) : parser_(form, inside) {}

  // Takes the bytes of the next token, which may end inside a character.
  void Take(std::string_view bytes);
  int32_t count() const { return count_; }

 private:
  ReasoningParser parser_;
  int32_t undecided_ = 0;  // tokens that may belong to a marker
  int32_t count_ = 0;
};

}  // namespace inferflux::text
