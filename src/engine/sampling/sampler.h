// Chooses the next token from a row of logits, on the host. SamplingParams documents the order of the steps. One
// sampler serves any number of sequences, one after another: it keeps only scratch memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "base/token_mask.h"
#include "compute/sampling.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/dry_penalty.h"
#include "engine/sampling/penalties.h"
#include "engine/sampling/sampling_params.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

using compute::SampleContext;

class Sampler {
 public:
  // Overwrites `logits`. Fills token, mirostat_mu, chosen and top; the token is kNoToken if every logit is NaN,
  // -infinity, banned or masked.
  OutputResult Sample(std::span<float> logits, const SamplingParams& params, const SampleContext& context);

  // Fills chosen for result.token, and top with the `count` likeliest.
  void Score(std::span<float> logits, int32_t count, OutputResult& result);

 private:
  void Choose(std::span<float> logits, const SamplingParams& params, const SampleContext& context,
              OutputResult& result);
  void DrawMirostat(std::span<const float> logits, double total, const SamplingParams& params,
                    const SampleContext& context, OutputResult& result);
  bool Filter(std::span<const float> logits, double total, const SamplingParams& params, uint64_t draw);

  Penalties penalties_;
  DryPenalty dry_;
  Candidates candidates_;
  std::vector<float> weights_;
  std::vector<float> raw_;
};

}  // namespace inferflux::engine
