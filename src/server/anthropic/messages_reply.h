// The reply to POST /v1/messages: a message whose content is a list of blocks, or the events that build it.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "server/reply/reply_surface.h"
#include "serving/generation/answer_parser.h"

namespace inferflux::server {

class MessagesReply final : public ReplySurface {
 public:
  MessagesReply(std::string model, int32_t prompt_tokens, serving::AnswerParser parser);

  net::Response Refusal(const ApiError& error) const override;
  net::Response Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) override;
  void Begin(std::string& out) override;
  void Append(size_t index, const scheduler::StreamEvent& event, std::string& out) override;
  void End(const ReplyTotals& totals, std::string& out) override;
  void Fail(const ApiError& error, std::string& out) override;

 private:
  enum class Open : uint8_t { kNone, kThinking, kText, kToolUse };

  boost::json::object Message() const;
  boost::json::object Stop(const scheduler::Finish& finish) const;
  void StartBlock(boost::json::object block, std::string& out);
  void AppendDelta(boost::json::object delta, std::string& out) const;
  void AppendInput(const text::ToolCallPiece& piece, std::string& out) const;
  void StopBlock(std::string& out);
  void Enter(Open kind, boost::json::object block, std::string& out);

  const std::string model_;
  const int32_t prompt_tokens_;
  serving::AnswerParser parser_;
  const std::string id_;

  // The state of a stream.
  size_t blocks_ = 0;        // started so far
  Open open_ = Open::kNone;  // the last block, if it is still open
  scheduler::Finish finish_;
};

}  // namespace inferflux::server
