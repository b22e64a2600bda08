// How to choose the next token from a row of logits. Plain data: it travels with a step to other ranks and processes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/token_id.h"

namespace inferflux::compute {

// The defaults are the OpenAI API's: nothing is applied unless requested. The order of application is logit_bias,
// repetition_penalty, presence and frequency penalties, bans and the mask, dry, top_n_sigma, temperature, then either
// mirostat or top_k, typical_p, top_p, min_p, xtc, and the draw. Each filter sees what the previous ones kept,
// renormalised. At temperature 0 the steps after dry change nothing.
struct SamplingParams {
  float temperature = 1.0f;  // 0: greedy, the lowest id wins a tie
  int32_t top_k = 0;         // keep the k likeliest; 0: all
  float top_p = 1.0f;        // keep the smallest set whose probability reaches p; 1: all
  float min_p = 0.0f;        // keep tokens at least min_p times as likely as the likeliest; 0: all
  float repetition_penalty =
      1.0f;                        // divides positive and multiplies negative logits of tokens seen in prompt or output
  float presence_penalty = 0.0f;   // subtracted once from the logit of each token in the output
  float frequency_penalty = 0.0f;  // subtracted from the logit once per occurrence in the output
  std::vector<std::pair<TokenId, float>> logit_bias;  // added to the logits

  float top_n_sigma = 0.0f;      // keep logits within n standard deviations of the highest (arXiv:2411.07641); 0: all
  float typical_p = 1.0f;        // keep the most typical set whose probability reaches p (arXiv:2202.00666); 1: all
  float xtc_probability = 0.0f;  // probability of excluding all tokens above the threshold except the least likely
  float xtc_threshold = 0.1f;    // a probability

  // "Don't repeat yourself": a token that would extend a repetition of n tokens loses multiplier * base^(n - allowed).
  float dry_multiplier = 0.0f;  // 0: off
  float dry_base = 1.75f;
  int32_t dry_allowed_length = 2;     // repetitions shorter than this are free
  int32_t dry_penalty_last_n = -1;    // how many of the last tokens, prompt and output, are searched; -1: all
  std::vector<TokenId> dry_breakers;  // a repetition does not extend across these

  // Mirostat v2 (arXiv:2007.14966): keeps the surprise of the text, in bits, near tau.
  bool mirostat = false;
  float mirostat_tau = 5.0f;
  float mirostat_eta = 0.1f;  // learning rate of the correction

  uint64_t seed = 0;  // a sequence's i-th draw depends only on (seed, i): a preempted sequence resumes unchanged
};

}  // namespace inferflux::compute
