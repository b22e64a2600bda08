// Takes apart the text of a chat's answer as it arrives: reasoning, content, and tool calls in the content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/generation.h"
#include "serving/models/served_model.h"
#include "text/reasoning/reasoning_parser.h"
#include "text/reasoning/reasoning_tokens.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::serving {

class AnswerParser {
 public:
  struct Output {
    std::string reasoning;
    std::string content;
    std::vector<text::ToolCallPiece> pieces;  // of calls, as they grow
    std::vector<text::FoundToolCall> calls;   // that have ended

    // The pieces of a call that an earlier event has begun precede the content; those of new calls follow it.
    std::span<const text::ToolCallPiece> PiecesOfOpenCall() const;
    std::span<const text::ToolCallPiece> PiecesOfNewCalls() const;
  };

  AnswerParser() = default;  // all text is content
  // `inside`: the prompt ends inside the reasoning. `calls`: null if the request offers no tools.
  AnswerParser(const ServedModel& model, bool inside, std::unique_ptr<text::ToolCallParser> calls);

  // What the event's text decides; with its finish, everything that was held back.
  Output Take(const scheduler::StreamEvent& event);

  // The number of calls found so far, without one that was cut.
  size_t found() const { return calls_ ? calls_->found() : 0; }
  // The number of tokens of reasoning so far.
  int32_t reasoning_tokens() const { return counter_ ? counter_->count() : 0; }

 private:
  void TakeContent(const std::string& content, Output& out);
  void CountReasoning(const scheduler::StreamEvent& event);

  std::optional<text::ReasoningParser> reasoning_;
  std::optional<text::ReasoningTokens> counter_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;       // of the model, if it reasons
  std::shared_ptr<const text::ReasoningDialect> dialect_;  // the same
  std::unique_ptr<text::ToolCallParser> calls_;
};

}  // namespace inferflux::serving
