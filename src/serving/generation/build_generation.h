// From a chat or raw prompts to requests that the model's scheduler takes: rendered, tokenised, with their masks.
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
  // What finds the calls of tools in an answer's text, by request; empty: no tools are offered.
  std::vector<std::unique_ptr<text::ToolCallParser>> tool_calls;
};

GenerationResult<Generation> BuildChat(const ServedModel& model, Chat chat, GenerationSpec spec);

// The output goes on with the prompts' text.
GenerationResult<Generation> BuildCompletion(const ServedModel& model, std::span<const RawPrompt> prompts,
                                             const GenerationSpec& spec);

// For choice number `choice`: with its seed and, where DRY is on, the tokens that end a repetition: the last one of
// each breaker behind a letter, as inside a text. kInvalid where a bias names a token that the vocabulary has not.
GenerationResult<engine::SamplingParams> SamplingOfChoice(const SamplingSpec& spec, int64_t choice,
                                                          const text::Tokenizer& tokenizer);

}  // namespace inferflux::serving
