// Choices of chat completions, tool calls included.
#pragma once

#include <vector>

#include "server/reply_format.h"
#include "server/tool_calls.h"

namespace inferflux::server {

class ChatFormat final : public ReplyFormat {
 public:
  // `tools`: look for tool calls in what is generated.
  ChatFormat(size_t choices, bool tools, bool logprobs) : parsers_(choices), tools_(tools), logprobs_(logprobs) {}

  std::string_view id_prefix() const override { return "chatcmpl-"; }
  std::string_view object_name(bool stream) const override {
    return stream ? "chat.completion.chunk" : "chat.completion";
  }
  boost::json::object Whole(size_t index, const scheduler::StreamEvent& all) override;
  boost::json::value Opening(size_t index) override;
  void Append(size_t index, const scheduler::StreamEvent& event, boost::json::array& choices) override;

 private:
  ToolCallParser::Output Parse(size_t index, const scheduler::StreamEvent& event);
  std::string_view Finish(size_t index, const scheduler::Finish& finish) const;

  std::vector<ToolCallParser> parsers_;  // by choice
  const bool tools_;
  const bool logprobs_;
};

}  // namespace inferflux::server
