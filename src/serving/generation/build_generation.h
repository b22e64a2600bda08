// Turns a chat or raw prompts into requests for the model's scheduler: renders, tokenises and adds masks.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "scheduler/generation.h"
#include "serving/generation/chat_prompt.h"
#include "serving/generation/generation_error.h"
#include "serving/generation/generation_spec.h"
#include "serving/models/served_model.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::serving {

struct Generation {
  std::vector<scheduler::GenerationRequest> requests;  // all choices of the first prompt, then of the next
  // The parsers that find tool calls in each request's answer; empty: no tools are offered.
  std::vector<std::unique_ptr<text::ToolCallParser>> tool_calls;
};

GenerationResult<Generation> BuildChat(const ServedModel& model, Chat chat, GenerationSpec spec);

// The output continues the prompts' text.
GenerationResult<Generation> BuildCompletion(const ServedModel& model, std::span<const RawPrompt> prompts,
                                             const GenerationSpec& spec);

// The parameters of choice number `choice`, with its seed and, if DRY is on, the tokens that end a repetition: the last
// token of each breaker, tokenised after a letter as it would be inside a text. kInvalid if a bias names a token that
// is not in the vocabulary.
GenerationResult<engine::SamplingParams> SamplingOfChoice(const SamplingSpec& spec, int64_t choice,
                                                          const text::Tokenizer& tokenizer);

}  // namespace inferflux::serving
