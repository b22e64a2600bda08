// The choices of chat completions, including tool calls.
#pragma once

#include <utility>
#include <vector>

#include "server/openai/reply_format.h"
#include "serving/generation/answer_parser.h"

namespace inferflux::server {

class ChatFormat final : public ReplyFormat {
 public:
  // `parsers`: one for each choice.
  ChatFormat(std::vector<serving::AnswerParser> parsers, bool logprobs)
      : parsers_(std::move(parsers)), logprobs_(logprobs) {}

  std::string_view id_prefix() const override { return "chatcmpl-"; }
  std::string_view object_name(bool stream) const override {
    return stream ? "chat.completion.chunk" : "chat.completion";
  }
  boost::json::object Whole(size_t index, const scheduler::StreamEvent& all) override;
  boost::json::value Opening(size_t index) override;
  void Append(size_t index, const scheduler::StreamEvent& event, boost::json::array& choices) override;

 private:
  std::string_view Finish(size_t index, const scheduler::Finish& finish) const;

  std::vector<serving::AnswerParser> parsers_;
  const bool logprobs_;
};

}  // namespace inferflux::server
