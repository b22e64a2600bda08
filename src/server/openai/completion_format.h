// The choices of plain completions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/openai/reply_format.h"

namespace inferflux::server {

// What a choice reports about its prompt.
struct EchoedPrompt {
  std::string text;         // text of the whole prompt
  std::string first_token;  // bytes of the first token
};

struct CompletionShape {
  std::optional<int64_t> logprobs;
  std::optional<int64_t> prompt_logprobs;
  bool echo = false;
  std::vector<EchoedPrompt> prompts;  // with echo: one for each choice
};

class CompletionFormat final : public ReplyFormat {
 public:
  CompletionFormat(size_t choices, CompletionShape shape) : states_(choices), shape_(std::move(shape)) {}

  std::string_view id_prefix() const override { return "cmpl-"; }
  std::string_view object_name(bool) const override { return "text_completion"; }
  boost::json::object Whole(size_t index, const scheduler::StreamEvent& all) override;
  boost::json::value Opening(size_t) override { return nullptr; }
  void Append(size_t index, const scheduler::StreamEvent& event, boost::json::array& choices) override;

 private:
  struct State {
    size_t offset = 0;  // characters so far
    bool told_prompt = false;
  };

  boost::json::object Choice(size_t index, const scheduler::StreamEvent& event);
  std::optional<boost::json::object> Prompt(size_t index, const scheduler::StreamEvent& event);

  std::vector<State> states_;  // by choice
  const CompletionShape shape_;
};

}  // namespace inferflux::server
