// The reply to POST /v1/messages: a message whose content is a list of blocks, or the events that build it.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "server/reply/reply_surface.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::server {

class MessagesReply final : public ReplySurface {
 public:
  // `calls` finds tool calls in the text; null if the request offers no tools.
  MessagesReply(std::string model, int32_t prompt_tokens, std::unique_ptr<text::ToolCallParser> calls);

  net::Response Refusal(const ApiError& error) const override;
  net::Response Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) override;
  void Begin(std::string& out) override;
  void Append(size_t index, const scheduler::StreamEvent& event, std::string& out) override;
  void End(const ReplyTotals& totals, std::string& out) override;
  void Fail(const ApiError& error, std::string& out) override;

 private:
  text::ToolCallParser::Output Parse(const scheduler::StreamEvent& event);
  boost::json::object Message() const;
  boost::json::object Stop(const scheduler::Finish& finish) const;
  void StartBlock(boost::json::object block, std::string& out);
  void AppendDelta(boost::json::object delta, std::string& out) const;
  void StopBlock(std::string& out);

  const std::string model_;
  const int32_t prompt_tokens_;
  const std::unique_ptr<text::ToolCallParser> calls_;
  const std::string id_;

  // The state of a stream.
  size_t blocks_ = 0;     // started so far
  bool in_text_ = false;  // the last block is text and is still open
  scheduler::Finish finish_;
};

}  // namespace inferflux::server
