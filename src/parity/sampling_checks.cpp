#include "parity/check_list.h"

#include <algorithm>
#include <cmath>

#include "engine/sampling/sampler.h"
#include "parity/compare.h"
#include "parity/feed.h"

namespace inferflux::parity {
namespace {

using engine::Engine;
using engine::OutputSpec;
using engine::SamplingParams;

std::vector<SamplingParams> ParamsToTry(const Oracle& oracle) {
  const TokenId some = oracle.tokens.back();
  return {
      {.temperature = 0.0f},
      {.temperature = 1.0f, .seed = 1},
      {.temperature = 0.7f, .top_k = 5, .seed = 2},
      {.temperature = 1.3f, .top_p = 0.8f, .seed = 3},
      {.temperature = 1.0f, .min_p = 0.1f, .seed = 4},
      {.temperature = 0.0f, .repetition_penalty = 1.5f},
      {.temperature = 0.0f, .presence_penalty = 2.0f, .frequency_penalty = 1.0f},
      {.temperature = 0.0f, .logit_bias = {{some, 100.0f}}},
  };
}

}  // namespace

// The engine's choice must be what our sampler chooses from the logits of the same step.
Finding CheckSamplers(Engine& engine, const Oracle& oracle, const Bounds&) {
  auto sequence = OpenEmpty(engine);
  if (!sequence) return Forward(sequence);
  const auto count = static_cast<int32_t>(oracle.tokens.size());
  engine::BatchItem item{.sequence = sequence->id(), .tokens = oracle.tokens};
  item.outputs.push_back({.token_index = count - 1, .kind = OutputSpec::Kind::kLogits});
  const auto params = ParamsToTry(oracle);
  for (const SamplingParams& each : params) {
    item.outputs.push_back(
        {.token_index = count - 1, .sampling = each, .prompt_tokens = count / 2, .draw = item.outputs.size()});
  }
  auto step = RunStep(engine, {item});
  if (!step) return Forward(step);
  const auto& outputs = step->items[0];
  engine::Sampler sampler;
  for (size_t i = 0; i < params.size(); ++i) {
    auto logits = outputs[0].logits;
    const auto expected = sampler.Sample(
        logits, params[i], {.history = oracle.tokens, .prompt_tokens = count / 2, .draw = item.outputs[i + 1].draw});
    if (outputs[i + 1].token != expected.token) {
      return Fail(ErrorCode::kInternal, "setting {} chose token {}, and its logits give {}", i, outputs[i + 1].token,
                  expected.token);
    }
  }
  return fmt::format("{} settings", params.size());
}

// Compares the five likeliest tokens at some positions with the oracle's distribution.
Finding CheckLogprobs(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  constexpr int32_t kTop = 5;
  constexpr int32_t kStride = 6;
  auto sequence = OpenEmpty(engine);
  if (!sequence) return Forward(sequence);
  engine::BatchItem item{.sequence = sequence->id(), .tokens = oracle.tokens};
  for (int32_t at = 0; at < static_cast<int32_t>(oracle.tokens.size()); at += kStride) {
    item.outputs.push_back({.token_index = at, .sampling = {.temperature = 0.0f}, .top_logprobs = kTop});
  }
  auto step = RunStep(engine, {item});
  if (!step) return Forward(step);
  double worst = 0.0;
  for (size_t i = 0; i < item.outputs.size(); ++i) {
    const auto& output = step->items[0][i];
    const auto at = static_cast<size_t>(item.outputs[i].token_index);
    const auto expected = LogSoftmax(oracle.logits[at]);
    if (output.top.size() != kTop || output.top[0].id != output.token || output.chosen.id != output.token) {
      return Fail(ErrorCode::kInternal, "at position {}: {} top tokens of {}, or the chosen one is not the first", at,
                  output.top.size(), kTop);
    }
    for (const auto& entry : output.top) {
      const double apart = std::abs(double{entry.logprob} - expected[static_cast<size_t>(entry.id)]);
      worst = std::max(worst, apart);
      if (!(apart <= bounds.logprob)) {
        return Fail(ErrorCode::kInternal, "at position {} token {} has {:.4f}, and the oracle gives {:.4f}", at,
                    entry.id, entry.logprob, expected[static_cast<size_t>(entry.id)]);
      }
    }
  }
  return fmt::format("{} of {} positions, at most {:.1e} apart", kTop, item.outputs.size(), worst);
}

Finding CheckGreedy(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  GreedyComparison comparison(bounds.tie);
  for (const Answer& answer : oracle.answers) {
    auto sequence = OpenEmpty(engine);
    if (!sequence) return Forward(sequence);
    std::vector<TokenId> feed = answer.prompt, said;
    int32_t position = 0;
    while (said.size() < answer.tokens.size() &&
           std::ranges::equal(said, std::span(answer.tokens).first(said.size()))) {
      engine::BatchItem item{.sequence = sequence->id(), .tokens = feed};
      item.first_position = position;
      item.outputs.push_back({.token_index = static_cast<int32_t>(feed.size()) - 1, .sampling = {.temperature = 0.0f}});
      auto step = RunStep(engine, {item});
      if (!step) return Forward(step);
      position += static_cast<int32_t>(feed.size());
      said.push_back(step->items[0][0].token);
      feed = {said.back()};
    }
    comparison.Add(answer, said);
  }
  return comparison.finding();
}

}  // namespace inferflux::parity
