// One generation, piece by piece.
#pragma once

#include <inferflux/reply_stream.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "embedded/call_events.h"
#include "serving/generation/answer_parser.h"
#include "serving/generation/build_generation.h"

namespace inferflux::embedded {

class RunningCall {
 public:
  // `call` has one request.
  static Result<std::unique_ptr<RunningCall>> Start(std::shared_ptr<const LoadedModelState> state,
                                                    serving::Generation call, CallLimits limits);

  // As ReplyStream::Next. What a model writes to call a tool is no text.
  Result<std::optional<std::string>> Next();
  const Reply& reply() const { return reply_; }
  const std::vector<text::FoundToolCall>& tool_calls() const { return tool_calls_; }

 private:
  RunningCall(std::shared_ptr<const LoadedModelState> state, CallEvents events, serving::AnswerParser parser)
      : state_(std::move(state)), events_(std::move(events)), parser_(std::move(parser)) {}

  void Take(const scheduler::StreamEvent& event, std::string& piece);

  std::shared_ptr<const LoadedModelState> state_;  // outlives the events
  std::optional<CallEvents> events_;               // gone after an error
  serving::AnswerParser parser_;
  std::optional<Error> error_;
  Reply reply_;
  std::vector<text::FoundToolCall> tool_calls_;
};

}  // namespace inferflux::embedded
