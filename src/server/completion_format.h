// Choices of plain completions.
#pragma once

#include <vector>

#include "server/reply_format.h"

namespace inferflux::server {

class CompletionFormat final : public ReplyFormat {
 public:
  CompletionFormat(size_t choices, bool logprobs) : offsets_(choices), logprobs_(logprobs) {}

  std::string_view id_prefix() const override { return "cmpl-"; }
  std::string_view object_name(bool) const override { return "text_completion"; }
  boost::json::object Whole(size_t index, const scheduler::StreamEvent& all) override;
  boost::json::value Opening(size_t) override { return nullptr; }
  void Append(size_t index, const scheduler::StreamEvent& event, boost::json::array& choices) override;

 private:
  boost::json::object Choice(size_t index, const scheduler::StreamEvent& event);

  std::vector<size_t> offsets_;  // by choice: characters so far
  const bool logprobs_;
};

}  // namespace inferflux::server
