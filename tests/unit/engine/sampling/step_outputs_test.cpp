// How a step's rows of logits become outputs: which row, which history, which draw each one has.
#include "engine/step_outputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace inferflux::engine {
namespace {

constexpr int32_t kWords = 4;

OutputSpec Draws(SamplingParams params, int32_t token_index = 0) {
  OutputSpec out;
  out.token_index = token_index;
  out.sampling = std::move(params);
  return out;
}

OutputSpec OfKind(OutputSpec::Kind kind) {
  OutputSpec out;
  out.kind = kind;
  return out;
}

std::vector<float> Rows(int count, std::vector<float> row) {
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.insert(out.end(), row.begin(), row.end());
  return out;
}

TEST(StepOutputs, EachHasTheNextRowThatNeedsOne) {
  OutputSpec scored = OfKind(OutputSpec::Kind::kLogprobs);
  scored.target = 2;
  scored.top_logprobs = 1;
  UnifiedBatch batch;
  batch.items.push_back({{0, 1}, {7}, 0, 0, {OfKind(OutputSpec::Kind::kHidden), OfKind(OutputSpec::Kind::kLogits)}});
  batch.items.push_back({{1, 1}, {7}, 0, 0, {}});
  batch.items.push_back({{2, 1}, {7}, 0, 0, {scored, Draws({.temperature = 0.0f})}});
  std::vector<float> logits = {1, 2, 3, 4, 0, 0, 0, 0, 5, 9, 8, 7};
  const std::vector<TokenId> tokens = {7};
  Sampler sampler;
  const StepResult result =
      MakeOutputs([&](SequenceId) { return std::span<const TokenId>(tokens); }, batch, logits, kWords, sampler);
  ASSERT_EQ(result.items.size(), 3u);
  ASSERT_EQ(result.items[0].size(), 2u);
  EXPECT_TRUE(result.items[0][0].logits.empty());
  EXPECT_EQ(result.items[0][0].token, kNoToken);
  EXPECT_EQ(result.items[0][1].logits, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_TRUE(result.items[1].empty());
  ASSERT_EQ(result.items[2].size(), 2u);
  EXPECT_EQ(result.items[2][0].token, 2);
  EXPECT_EQ(result.items[2][0].chosen.id, 2);
  EXPECT_NEAR(result.items[2][0].chosen.logprob, -std::log(4.0f), 1e-6f);
  EXPECT_EQ(result.items[2][0].top.size(), 1u);
  EXPECT_EQ(result.items[2][1].token, 1);
}

TEST(StepOutputs, ADevicesChoiceTakesNoRowAndALackingOneDoes) {
  UnifiedBatch batch;
  batch.items.push_back({{0, 1},
                         {7},
                         0,
                         0,
                         {Draws({.temperature = 0.0f}), OfKind(OutputSpec::Kind::kHidden), Draws({.temperature = 0.0f}),
                          Draws({.temperature = 0.0f})}});
  std::vector<std::optional<compute::SampledToken>> sampled(3);
  sampled[0] = compute::SampledToken{3, {3, -0.5f}, {{3, -0.5f}, {1, -1.5f}}};
  sampled[2] = compute::SampledToken{.token = 0};
  std::vector<float> logits = {0, 0, 6, 0};
  const std::vector<TokenId> tokens = {7};
  Sampler sampler;
  const auto out =
      MakeOutputs([&](SequenceId) { return std::span<const TokenId>(tokens); }, batch, logits, kWords, sampler, sampled)
          .items[0];
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0].token, 3);
  EXPECT_EQ(out[0].chosen.logprob, -0.5f);
  ASSERT_EQ(out[0].top.size(), 2u);
  EXPECT_EQ(out[0].top[1].logprob, -1.5f);
  EXPECT_EQ(out[1].token, kNoToken);
  EXPECT_EQ(out[2].token, 2) << "the only row";
  EXPECT_EQ(out[3].token, 0);
}

TEST(StepOutputs, MirostatGoesOnFromThePreviousOutputUnlessItHasAState) {
  const SamplingParams params{.mirostat = true, .mirostat_tau = 2.0f, .mirostat_eta = 0.5f, .seed = 9};
  const std::vector<float> row = {2, 1, 0.5, 0};
  const std::vector<TokenId> tokens = {1, 2, 3};
  Sampler sampler;
  const auto alone = [&](uint64_t draw, std::optional<float> mu) {
    std::vector<float> copy = row;
    return sampler.Sample(copy, params, {.history = tokens, .draw = draw, .mirostat_mu = mu});
  };
  UnifiedBatch batch;
  batch.items.push_back({{0, 1}, {1, 2, 3}, 0, 0, {Draws(params, 0), Draws(params, 1), Draws(params, 2)}});
  batch.items.push_back({{1, 1}, {1}, 2, 0, {Draws(params)}});
  for (uint64_t i = 0; i < 3; ++i) batch.items[0].outputs[i].draw = i;
  batch.items[0].outputs[2].mirostat_mu = 3.25f;
  std::vector<float> logits = Rows(4, row);
  const StepResult result =
      MakeOutputs([&](SequenceId) { return std::span<const TokenId>(tokens); }, batch, logits, kWords, sampler);
  const OutputResult first = alone(0, std::nullopt);
  const OutputResult second = alone(1, first.mirostat_mu);
  const OutputResult third = alone(2, 3.25f);
  EXPECT_EQ(result.items[0][0].mirostat_mu, first.mirostat_mu);
  EXPECT_EQ(result.items[0][1].mirostat_mu, second.mirostat_mu);
  EXPECT_NE(second.mirostat_mu, alone(1, std::nullopt).mirostat_mu) << "the states differ at all";
  EXPECT_EQ(result.items[0][2].mirostat_mu, third.mirostat_mu);
  EXPECT_EQ(result.items[1][0].mirostat_mu, first.mirostat_mu) << "another sequence begins anew";
}

// Three tokens of a sequence of five: the output after the second sees four of them.
TEST(StepOutputs, EachSeesTheTokensUpToItsOwn) {
  SamplingParams params{.temperature = 0.0f, .presence_penalty = 5.0f};
  UnifiedBatch batch;
  batch.items.push_back({{0, 1}, {2, 1, 0}, 2, 0, {Draws(params, 0), Draws(params, 1), Draws(params, 2)}});
  for (OutputSpec& output : batch.items[0].outputs) output.prompt_tokens = 1;
  batch.items[0].outputs[2].prompt_tokens = 4;
  const std::vector<TokenId> tokens = {0, 3, 2, 1, 0};
  std::vector<float> logits = Rows(3, {4.0f, 4.1f, 4.2f, 4.3f});
  Sampler sampler;
  const auto out =
      MakeOutputs([&](SequenceId) { return std::span<const TokenId>(tokens); }, batch, logits, kWords, sampler)
          .items[0];
  EXPECT_EQ(out[0].token, 1) << "3 and 2 were written";
  EXPECT_EQ(out[1].token, 0) << "and 1";
  EXPECT_EQ(out[2].token, 3) << "only 0 is no prompt";
}

TEST(StepOutputs, EachHasItsOwnBansMaskAndLogprobs) {
  UnifiedBatch batch;
  batch.items.push_back({{0, 1}, {1}, 0, 0, {}});
  OutputSpec banned = Draws({.temperature = 0.0f});
  banned.banned = {3};
  OutputSpec masked = Draws({.temperature = 0.0f});
  auto mask = std::make_shared<TokenMask>(kWords);
  mask->Allow(1);
  masked.mask = mask;
  OutputSpec told = Draws({.temperature = 0.0f});
  told.top_logprobs = 2;
  batch.items[0].outputs = {banned, masked, told};
  std::vector<float> logits = Rows(3, {0, 1, 2, 3});
  const std::vector<TokenId> tokens = {1};
  Sampler sampler;
  const auto out =
      MakeOutputs([&](SequenceId) { return std::span<const TokenId>(tokens); }, batch, logits, kWords, sampler)
          .items[0];
  EXPECT_EQ(out[0].token, 2);
  EXPECT_TRUE(out[0].top.empty());
  EXPECT_EQ(out[1].token, 1);
  EXPECT_EQ(out[2].token, 3);
  ASSERT_EQ(out[2].top.size(), 2u);
  EXPECT_EQ(out[2].top[1].id, 2);
}

TEST(SamplerEdges, ATemperatureOfAMillionthIsTheLeastThatDraws) {
  std::vector<int> seen(2, 0);
  for (const float temperature : {1e-6f, 9e-7f}) {
    for (uint64_t draw = 0; draw < 40; ++draw) {
      std::vector<float> logits = {1.0f, 5.0f, 5.0f};
      const TokenId token = Sampler().Sample(logits, {.temperature = temperature, .seed = 3}, {.draw = draw}).token;
      EXPECT_NE(token, 0);
      if (token == 2) ++seen[temperature == 1e-6f ? 0 : 1];
    }
  }
  EXPECT_GT(seen[0], 5) << "of the two likeliest, both are drawn";
  EXPECT_LT(seen[0], 35);
  EXPECT_EQ(seen[1], 0) << "the first of them";
}

TEST(SamplerEdges, AShareAboveOneKeepsTheLikeliest) {
  for (uint64_t draw = 0; draw < 20; ++draw) {
    std::vector<float> logits = {1.0f, 1.5f, 1.25f};
    EXPECT_EQ(Sampler().Sample(logits, {.min_p = 2.0f, .seed = 3}, {.draw = draw}).token, 1);
  }
}

TEST(SamplerEdges, WhereNothingMayBeChosenThereAreNoLogprobs) {
  const TokenMask none(3);
  std::vector<float> logits = {1.0f, 1.5f, 1.25f};
  const OutputResult out = Sampler().Sample(logits, {.temperature = 0.0f}, {.mask = &none, .top_logprobs = 2});
  EXPECT_EQ(out.token, kNoToken);
  EXPECT_TRUE(out.top.empty());
  EXPECT_EQ(out.chosen.logprob, 0.0f);
}

TEST(SamplerEdges, SickLogitsHaveNoShareInOthersLogprobs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> drawn = {2.0f, nan, 2.0f};
  const OutputResult out = Sampler().Sample(drawn, {.temperature = 0.0f}, {.top_logprobs = 1});
  EXPECT_EQ(out.token, 0);
  EXPECT_NEAR(out.chosen.logprob, -std::log(2.0f), 1e-6f);
  std::vector<float> scored = {2.0f, nan, 2.0f};
  OutputResult score{.token = 2};
  Sampler().Score(scored, 1, score);
  EXPECT_NEAR(score.chosen.logprob, -std::log(2.0f), 1e-6f);
  EXPECT_EQ(score.top.at(0).id, 0);
}

}  // namespace
}  // namespace inferflux::engine
