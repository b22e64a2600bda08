#include "engine/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compute/sampling_random.h"
#include "engine/sampling/logprobs.h"
#include "engine/sampling/softmax.h"

namespace inferflux::engine {
namespace {

using compute::RandomUse;
using compute::Uniform;

// Below it, the second best token is drawn only if it is within a millionth of the best.
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

// Logits more than this many standard deviations below the highest are not candidates.
void KeepTopSigma(std::span<float> logits, float highest, float sigmas) {
  double sum = 0.0, squares = 0.0;
  size_t count = 0;
  for (const float logit : logits) {
    if (logit == -std::numeric_limits<float>::infinity()) continue;
    const double below = double{logit} - highest;
    sum += below;
    squares += below * below;
    ++count;
  }
  const double mean = sum / static_cast<double>(count);
  const double deviation = std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean * mean));
  const double least = highest - sigmas * deviation;
  for (float& logit : logits) {
    if (logit < least) logit = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

OutputResult Sampler::Sample(std::span<float> logits, const SamplingParams& params, const SampleContext& context) {
  OutputResult result;
  Sanitize(logits);
  weights_.resize(logits.size());
  if (context.top_logprobs) raw_.assign(logits.begin(), logits.end());
  penalties_.Apply(logits, params, context.history, context.prompt_tokens, context.banned, context.mask);
  if (params.dry_multiplier > 0.0f) dry_.Apply(logits, params, context.history);
  Sanitize(logits);  // a bias or a penalty may have overflowed
  Choose(logits, params, context, result);
  if (context.top_logprobs && result.token != kNoToken) {
    FillLogprobs(raw_, *context.top_logprobs, weights_, result);
  }
  return result;
}

void Sampler::Score(std::span<float> logits, int32_t count, OutputResult& result) {
  Sanitize(logits);
  weights_.resize(logits.size());
  FillLogprobs(logits, count, weights_, result);
}

void Sampler::Choose(std::span<float> logits, const SamplingParams& params, const SampleContext& context,
                     OutputResult& result) {
  const float highest = Highest(logits);
  if (highest == -std::numeric_limits<float>::infinity()) return;
  if (params.temperature < kGreedyBelow) {
    result.token = static_cast<TokenId>(std::ranges::find(logits, highest) - logits.begin());
    return;
  }
  if (params.top_n_sigma > 0.0f) KeepTopSigma(logits, highest, params.top_n_sigma);
  const double total = ExpWeights(logits, highest, 1.0f / params.temperature, weights_);
  if (params.mirostat) return DrawMirostat(logits, total, params, context, result);
  const double uniform = Uniform(params.seed, context.draw, RandomUse::kToken);
  result.token = Filter(logits, total, params, context.draw) ? candidates_.Draw(uniform).id
                                                             : DrawFromAll(weights_, total, uniform);
}

// False if no filter is active: then no candidates are gathered.
bool Sampler::Filter(std::span<const float> logits, double total, const SamplingParams& params, uint64_t draw) {
  const bool top_k = params.top_k > 0 && static_cast<size_t>(params.top_k) < logits.size();
  const bool typical = params.typical_p < 1.0f;
  const bool top_p = params.top_p < 1.0f;
  const bool min_p = params.min_p > 0.0f;
  const bool xtc = params.xtc_probability > 0.0f &&
                   Uniform(params.seed, draw, RandomUse::kXtc) < static_cast<double>(params.xtc_probability);
  if (!top_k && !typical && !top_p && !min_p && !xtc) return false;

  if (top_k) {
    candidates_.GatherTop(logits, weights_, static_cast<size_t>(params.top_k));
  } else if (typical || !(top_p || min_p)) {
    candidates_.GatherAll(logits, weights_, 0.0f, total);
  } else {
    // All tokens that are less likely than (1 - p) / vocabulary are together less likely than 1 - p: the nucleus never
    // needs them. The likeliest token's weight is 1.
    const double outside = top_p ? total * (1.0 - double{params.top_p}) / static_cast<double>(logits.size()) : 0.0;
    const double least = std::min(1.0, top_p ? outside : double{params.min_p});
    candidates_.GatherAll(logits, weights_, static_cast<float>(least), total);
  }
  if (typical) candidates_.KeepTypical(params.typical_p);
  if (top_p) candidates_.KeepTopP(params.top_p);
  if (min_p) candidates_.KeepMinP(std::min(params.min_p, 1.0f));
  if (xtc) candidates_.DropTopChoices(params.xtc_threshold);
  return true;
}

void Sampler::DrawMirostat(std::span<const float> logits, double total, const SamplingParams& params,
                           const SampleContext& context, OutputResult& result) {
  const float mu = context.mirostat_mu.value_or(2.0f * params.mirostat_tau);
  candidates_.GatherAll(logits, weights_, 0.0f, total);
  candidates_.KeepSurpriseBelow(mu);
  const Candidate& drawn = candidates_.Draw(Uniform(params.seed, context.draw, RandomUse::kToken));
  result.token = drawn.id;
  const double error = candidates_.Surprise(drawn) - double{params.mirostat_tau};
  result.mirostat_mu = static_cast<float>(double{mu} - double{params.mirostat_eta} * error);
}

}  // namespace inferflux::engine
