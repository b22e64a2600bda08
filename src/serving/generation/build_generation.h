// Turns a chat or raw prompts into requests for the model's scheduler: renders, tokenises and adds masks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/generation.h"
#include "serving/generation/answer_parser.h"
#include "serving/generation/chat_prompt.h"
#include "serving/generation/generation_error.h"
#include "serving/generation/generation_spec.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

struct Generation {
  std::vector<scheduler::GenerationRequest> requests;  // all choices of the first prompt, then of the next
  // If the request's max_tokens did not fit behind a prompt: the tokens that do. The request gets as many.
  std::optional<int32_t> capped_tokens;
  std::vector<AnswerParser> answers;  // of a chat: the parser of each request's answer
};

GenerationResult<Generation> BuildChat(const ServedModel& model, Chat chat, GenerationSpec spec);

// The output continues the prompts' text.
GenerationResult<Generation> BuildCompletion(const ServedModel& model, std::span<const RawPrompt> prompts,
                                             GenerationSpec spec);

// The parameters of choice number `choice`, with its seed and, if DRY is on, the tokens that end a repetition: the last
// token of each breaker, tokenised after a letter as it would be inside a text. kInvalid if a bias names a token that
// is not in the vocabulary.
GenerationResult<engine::SamplingParams> SamplingOfChoice(const SamplingSpec& spec, int64_t choice,
                                                          const text::Tokenizer& tokenizer);

}  // namespace inferflux::serving
