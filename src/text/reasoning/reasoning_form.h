// How a family of models marks the reasoning that precedes its answer, as data for ReasoningParser.
#pragma once

#include <span>
#include <string_view>

namespace inferflux::text {

// Markers: see tool_calls/marker.h. Empty ones are absent.
struct ReasoningForm {
  std::string_view id;      // for messages and tests
  std::string_view opens;   // before the reasoning
  std::string_view closes;  // after it
  // Before the answer: the opening of another turn, only after reasoning, and the name of its channel.
  std::string_view turn_opens = {};
  std::string_view answer_opens = {};
};

// All known forms, the commonest first.
std::span<const ReasoningForm> ReasoningForms();

}  // namespace inferflux::text
