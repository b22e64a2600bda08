// The fields of a request that say how the next token is chosen, and what they become for the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/sampling/sampling_params.h"
#include "server/request/fields.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::server {

inline constexpr size_t kMaxBiases = 1024;
inline constexpr size_t kMaxBreakers = 32;
inline constexpr size_t kMaxBreakerBytes = 64;

// Names, ranges and defaults are those that llama-server's and vLLM's users know.
struct SamplingFields {
  float temperature = 1;
  std::optional<int64_t> top_k;
  float top_p = 1;
  float min_p = 0;
  float typical_p = 1;
  float top_n_sigma = 0;
  float xtc_probability = 0;
  float xtc_threshold = 0.1f;
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  float dry_multiplier = 0;
  float dry_base = 1.75f;
  std::optional<int64_t> dry_allowed_length;
  std::optional<int64_t> dry_penalty_last_n;
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  bool mirostat = false;
  float mirostat_tau = 5;
  float mirostat_eta = 0.1f;
  std::optional<int64_t> seed;
  std::vector<std::pair<TokenId, float>> logit_bias;
};

std::span<const Field<SamplingFields>> SamplingFieldTable();

// What holds between fields: filters that mirostat replaces are an error beside it.
ApiStatus CheckSampling(const SamplingFields& fields);

// For choice number `choice`; choices of one seed differ. `vocab_size` bounds logit_bias. Without DRY's breakers.
ApiResult<engine::SamplingParams> ToSamplingParams(const SamplingFields& fields, int64_t choice, int32_t vocab_size);

// The tokens that end a repetition: the last one of each breaker behind a letter, as it stands inside a text.
std::vector<TokenId> DryBreakers(const SamplingFields& fields, const text::Tokenizer& tokenizer);

}  // namespace inferflux::server
