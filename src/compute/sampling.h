// A row of logits to choose a token from, and the chosen token. Plain data for host and device samplers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "base/token_mask.h"
#include "compute/sampling_params.h"

namespace inferflux::compute {

struct SampleContext {
  std::span<const TokenId> history;  // the sequence's tokens so far
  int32_t prompt_tokens = 0;         // how many of them are its prompt
  uint64_t draw = 0;                 // together with the seed it determines the random number
  std::optional<float> mirostat_mu;  // mirostat's state; none before the first draw
  std::span<const TokenId> banned;
  const TokenMask* mask = nullptr;  // all tokens that may be chosen; null: any
  std::optional<int32_t> top_logprobs;
};

struct SampleRow {
  const SamplingParams* params = nullptr;
  SampleContext context;
};

struct LogprobEntry {
  TokenId id = 0;
  float logprob = 0.0f;  // natural log, of the model's own distribution: before bias, penalties, temperature, filters
};

inline constexpr TokenId kNoToken = -1;  // no token could be chosen: all NaN, -infinity, banned or masked

struct SampledToken {
  TokenId token = kNoToken;
  LogprobEntry chosen;            // if top_logprobs is set
  std::vector<LogprobEntry> top;  // likeliest first
};

}  // namespace inferflux::compute
