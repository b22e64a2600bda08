#include "engine/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/sampling/logprobs.h"
#include "engine/sampling/random.h"
#include "engine/sampling/weights.h"

namespace inferflux::engine {
namespace {

// Below it the second best token would need to be within a millionth of the best to be drawn at all.
constexpr float kGreedyBelow = 1e-6f;

TokenId DrawFromAll(std::span<const float> weights, double total, double uniform) {
  double left = uniform * total;
  TokenId last = 0;
  for (size_t id = 0; id < weights.size(); ++id) {
    if (!(weights[id] > 0.0f)) continue;
    left -= weights[id];
    last = static_cast<TokenId>(id);
    if (left < 0.0) break;
  }
  return last;
}

}  // namespace

OutputResult Sampler::Sample(std::span<float> logits, const SamplingParams& params, const SampleContext& context) {
  OutputResult result;
  Sanitize(logits);
  weights_.resize(logits.size());
  if (context.top_logprobs) raw_.assign(logits.begin(), logits.end());
  penalties_.Apply(logits, params, context.history, context.prompt_tokens, context.banned);
  Sanitize(logits);  // a bias or a penalty may have overflowed
  result.token = Choose(logits, params, context.draw);
  if (context.top_logprobs && result.token != kNoToken) {
    FillLogprobs(raw_, *context.top_logprobs, weights_, result);
  }
  return result;
}

TokenId Sampler::Choose(std::span<const float> logits, const SamplingParams& params, uint64_t draw) {
  const float highest = Highest(logits);
  if (highest == -std::numeric_limits<float>::infinity()) return kNoToken;
  if (params.temperature < kGreedyBelow) {
    return static_cast<TokenId>(std::ranges::find(logits, highest) - logits.begin());
  }
  const double total = ExpWeights(logits, highest, 1.0f / params.temperature, weights_);
  const double uniform = Uniform(params.seed, draw, RandomUse::kToken);
  const bool top_k = params.top_k > 0 && static_cast<size_t>(params.top_k) < logits.size();
  const bool top_p = params.top_p < 1.0f;
  if (!top_k && !top_p && params.min_p <= 0.0f) return DrawFromAll(weights_, total, uniform);

  if (top_k) {
    candidates_.GatherTop(logits, weights_, static_cast<size_t>(params.top_k));
  } else {
    // All tokens together that are less likely than (1 - p) / vocabulary are less likely than 1 - p: the nucleus never
    // needs one of them. The likeliest token's weight is 1.
    const double outside = top_p ? total * (1.0 - double{params.top_p}) / static_cast<double>(logits.size()) : 0.0;
    const double least = std::min(1.0, top_p ? outside : double{params.min_p});
    candidates_.GatherAll(logits, weights_, static_cast<float>(least), total);
  }
  if (top_p) candidates_.KeepTopP(params.top_p);
  if (params.min_p > 0.0f) candidates_.KeepMinP(std::min(params.min_p, 1.0f));
  return candidates_.Draw(uniform);
}

}  // namespace inferflux::engine
