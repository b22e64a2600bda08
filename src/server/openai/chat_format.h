// The choices of chat completions, including tool calls.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "server/openai/reply_format.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::server {

class ChatFormat final : public ReplyFormat {
 public:
  using Parsers = std::vector<std::unique_ptr<text::ToolCallParser>>;

  // `tools`: for each choice, the parser that finds calls in the text; empty: none.
  ChatFormat(Parsers tools, bool logprobs) : parsers_(std::move(tools)), logprobs_(logprobs) {}

  std::string_view id_prefix() const override { return "chatcmpl-"; }
  std::string_view object_name(bool stream) const override {
    return stream ? "chat.completion.chunk" : "chat.completion";
  }
  boost::json::object Whole(size_t index, const scheduler::StreamEvent& all) override;
  boost::json::value Opening(size_t index) override;
  void Append(size_t index, const scheduler::StreamEvent& event, boost::json::array& choices) override;

 private:
  text::ToolCallParser::Output Parse(size_t index, const scheduler::StreamEvent& event);
  std::string_view Finish(size_t index, const scheduler::Finish& finish) const;

  size_t found(size_t index) const { return parsers_.empty() ? 0 : parsers_[index]->found(); }

  Parsers parsers_;
  const bool logprobs_;
};

}  // namespace inferflux::server
