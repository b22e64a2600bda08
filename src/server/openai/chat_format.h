// The choices of chat completions, including tool calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/openai/reply_format.h"
#include "serving/generation/answer_parser.h"
#include "serving/generation/custom_input.h"

namespace inferflux::server {

class ChatFormat final : public ReplyFormat {
 public:
  // `parsers`: one for each choice. `custom_tools`: the names of tools whose input is a text.
  ChatFormat(std::vector<serving::AnswerParser> parsers, std::vector<std::string> custom_tools, bool logprobs)
      : parsers_(std::move(parsers)),
        custom_tools_(std::move(custom_tools)),
        inputs_(parsers_.size()),
        logprobs_(logprobs) {}

  std::string_view id_prefix() const override { return "chatcmpl-"; }
  std::string_view object_name(bool stream) const override {
    return stream ? "chat.completion.chunk" : "chat.completion";
  }
  boost::json::object Whole(size_t index, const scheduler::StreamEvent& all) override;
  std::optional<int32_t> reasoning_tokens() const override;
  boost::json::value Opening(size_t index) override;
  void Append(size_t index, const scheduler::StreamEvent& event, boost::json::array& choices) override;

 private:
  std::string_view Finish(size_t index, const scheduler::Finish& finish) const;

  bool IsCustom(std::string_view name) const;
  boost::json::object DescribePiece(const text::ToolCallPiece& piece, std::optional<serving::CustomInput>& input) const;

  std::vector<serving::AnswerParser> parsers_;
  const std::vector<std::string> custom_tools_;
  std::vector<std::optional<serving::CustomInput>> inputs_;  // [choice]: of its last call, if that is custom
  const bool logprobs_;
};

}  // namespace inferflux::server
