// Takes apart the text of a chat's answer as it arrives: reasoning, content, and tool calls in the content.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/generation.h"
#include "serving/models/served_model.h"
#include "text/reasoning/reasoning_parser.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::serving {

class AnswerParser {
 public:
  struct Output {
    std::string reasoning;
    std::string content;
    std::vector<text::FoundToolCall> calls;
  };

  AnswerParser() = default;  // all text is content
  // `inside`: the prompt ends inside the reasoning. `calls`: null if the request offers no tools.
  AnswerParser(const ServedModel& model, bool inside, std::unique_ptr<text::ToolCallParser> calls);

  // What the event's text decides; with its finish, everything that was held back.
  Output Take(const scheduler::StreamEvent& event);

  // The number of calls found so far.
  size_t found() const { return calls_ ? calls_->found() : 0; }

 private:
  void TakeContent(const std::string& content, Output& out);

  std::optional<text::ReasoningParser> reasoning_;
  std::unique_ptr<text::ToolCallParser> calls_;
};

}  // namespace inferflux::serving
