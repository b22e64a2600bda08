#include "embedded/running_call.h"

#include <utility>

namespace inferflux::embedded {

Result<std::unique_ptr<RunningCall>> RunningCall::Start(std::shared_ptr<const LoadedModelState> state,
                                                        serving::Generation call, CallLimits limits) {
  auto events = CallEvents::Submit(*state->model, std::move(call.requests), std::move(limits));
  if (!events) return Forward(events);
  auto parser = call.answers.empty() ? serving::AnswerParser() : std::move(call.answers.front());
  return std::unique_ptr<RunningCall>(new RunningCall(std::move(state), std::move(*events), std::move(parser)));
}

void RunningCall::Take(const scheduler::StreamEvent& event, std::string& piece) {
  serving::AnswerParser::Output output = parser_.Take(event);
  reply_.reasoning += output.reasoning;
  piece += output.content;
  // Arguments are objects here: a call that was cut is left out, and one that is no JSON is text.
  for (text::FoundToolCall& call : output.calls) {
    piece += call.source;
    if (call.whole()) tool_calls_.push_back(std::move(call));
  }
  if (!event.finish) return;
  const scheduler::Usage& usage = event.finish->usage;
  reply_.usage = {.prompt = static_cast<uint64_t>(usage.prompt_tokens),
                  .cached = static_cast<uint64_t>(usage.cached_tokens),
                  .completion = static_cast<uint64_t>(usage.completion_tokens)};
  reply_.finish = !tool_calls_.empty()                                       ? FinishReason::kToolCalls
                  : event.finish->reason == scheduler::FinishReason::kLength ? FinishReason::kLength
                                                                             : FinishReason::kStop;
}

Result<std::optional<std::string>> RunningCall::Next() {
  if (error_) return Refuse(*error_);
  std::string piece;
  while (piece.empty()) {
    if (events_->finished()) return std::nullopt;
    auto next = events_->Next([&](size_t, const scheduler::StreamEvent& event) { Take(event, piece); });
    if (!next) {
      error_ = next.error();
      events_.reset();
      return Forward(next);
    }
  }
  reply_.text += piece;
  return piece;
}

ReplyStream::ReplyStream(std::unique_ptr<RunningCall> call) : call_(std::move(call)) {}
ReplyStream::ReplyStream(ReplyStream&&) noexcept = default;
ReplyStream& ReplyStream::operator=(ReplyStream&&) noexcept = default;
ReplyStream::~ReplyStream() = default;

Result<std::optional<std::string>> ReplyStream::Next() { return call_->Next(); }
const Reply& ReplyStream::reply() const { return call_->reply(); }

}  // namespace inferflux::embedded
