// How the next token is chosen from a row of logits. Plain data: it travels with a step to other ranks and processes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/token_id.h"

namespace inferflux::engine {

// The defaults are the OpenAI API's: nothing is applied that was not asked for. The order of application is
// logit_bias, repetition_penalty, presence and frequency penalties, temperature, top_k, top_p, min_p, draw.
struct SamplingParams {
  float temperature = 1.0f;         // 0: greedy, the lowest id wins a tie
  int32_t top_k = 0;                // keep the k likeliest; 0: all
  float top_p = 1.0f;               // keep the smallest set whose probability reaches p; 1: all
  float min_p = 0.0f;               // keep what is at least min_p times as likely as the likeliest; 0: all
  float repetition_penalty = 1.0f;  // divides positive and multiplies negative logits of tokens seen in prompt or output
  float presence_penalty = 0.0f;    // subtracted once from the logit of each token in the output
  float frequency_penalty = 0.0f;   // subtracted once an occurrence in the output
  std::vector<std::pair<TokenId, float>> logit_bias;  // added to the logits
  uint64_t seed = 0;  // the i-th draw of a sequence depends on (seed, i) alone: a preempted sequence resumes as it was
};

}  // namespace inferflux::engine
