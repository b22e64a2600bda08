#include "text/reasoning/reasoning_tokens.h"

#include <utility>

namespace inferflux::text {

void ReasoningTokens::Take(std::string_view bytes) {
  using Part = ReasoningParser::Part;
  const Part before = parser_.part();
  if (before == Part::kAnswer) return;
  parser_.Feed(bytes);
  const Part after = parser_.part();
  ++undecided_;
  if (before == Part::kReasoning || after == Part::kReasoning) {
    count_ += std::exchange(undecided_, 0);
  } else if (after == Part::kAnswer) {
    undecided_ = 0;
  }
}

}  // namespace inferflux::text
