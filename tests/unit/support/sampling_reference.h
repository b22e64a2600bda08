// The distribution that a next token must be drawn from, by the book: the whole vocabulary, sorted, in double. Checked
// against numpy's in tests/data/sampling.json.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/sampling/sampling_params.h"

namespace inferflux::testing {

struct SamplingSetting {
  engine::SamplingParams params;  // its seed plays no part
  std::vector<TokenId> history;
  int32_t prompt_tokens = 0;
  std::optional<float> mirostat_mu;
};

// Probabilities by token id.
std::vector<double> SamplingReference(std::span<const float> logits, const SamplingSetting& setting);

// How far the counts of independent draws are from this distribution: Pearson's statistic as a number of standard
// deviations (Wilson and Hilferty's cube root). Infinity where a token was drawn that never may be.
double DrawDeviation(std::span<const double> expected, std::span<const int> seen);

}  // namespace inferflux::testing
