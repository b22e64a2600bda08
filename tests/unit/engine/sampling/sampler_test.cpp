#include "engine/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "compute/sampling_random.h"
#include "engine/sampling/softmax.h"
#include "support/sampling_reference.h"

namespace inferflux::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TokenId Pick(std::vector<float> logits, const SamplingParams& params, SampleContext context = {}) {
  return Sampler().Sample(logits, params, context).token;
}

SamplingParams Greedy() { return {.temperature = 0.0f}; }

// Distance between the draws and the reference distribution, in standard deviations.
double Deviation(const std::vector<float>& logits, const testing::SamplingSetting& setting, int draws) {
  std::vector<int> seen(logits.size(), 0);
  Sampler sampler;
  std::vector<float> row;
  for (int draw = 0; draw < draws; ++draw) {
    row = logits;
    const TokenId token = sampler
                              .Sample(row, setting.params,
                                      {.history = setting.history,
                                       .prompt_tokens = setting.prompt_tokens,
                                       .draw = static_cast<uint64_t>(draw),
                                       .mirostat_mu = setting.mirostat_mu})
                              .token;
    ++seen[static_cast<size_t>(token)];
  }
  return testing::DrawDeviation(testing::SamplingReference(logits, setting), seen);
}

TEST(Philox, MatchesItsAuthorsKnownAnswers) {  // kat_vectors of Random123 1.09
  using compute::Philox4x32;
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(Philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Weights, AreTheExponentialToAMillionth) {
  std::vector<float> logits;
  for (float x = -86.9f; x <= 0.0f; x += 0.0137f) logits.push_back(x);
  std::vector<float> weights(logits.size());
  const double total = ExpWeights(logits, 0.0f, 1.0f, weights);
  double expected = 0.0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double exact = std::exp(double{logits[i]});
    ASSERT_NEAR(weights[i] / exact, 1.0, 1e-6) << "exp(" << logits[i] << ")";
    expected += exact;
  }
  EXPECT_NEAR(total / expected, 1.0, 1e-6);
  logits = {0.0f, -200.0f, -kInf};
  weights.resize(3);
  EXPECT_EQ(ExpWeights(logits, 0.0f, 1.0f, weights), 1.0);
}

TEST(Sampler, GreedyTakesTheHighestAndTheLowestIdOfATie) {
  EXPECT_EQ(Pick({1, 3, 2}, Greedy()), 1);
  EXPECT_EQ(Pick({1, 3, 3, 3}, Greedy()), 1);
  EXPECT_EQ(Pick(std::vector<float>(40, -5.0f), Greedy()), 0);
}

TEST(Sampler, SickLogitsNeitherDecideNorSpread) {
  EXPECT_EQ(Pick({kNaN, 1, 2, kNaN}, Greedy()), 2);
  EXPECT_EQ(Pick({-kInf, kNaN, -kInf}, Greedy()), kNoToken);
  EXPECT_EQ(Pick({1, kInf, 2, kInf}, Greedy()), 1);
  SamplingParams warm{.temperature = 1.0f};
  for (uint64_t draw = 0; draw < 50; ++draw) {
    EXPECT_EQ(Pick({kNaN, 1, -kInf, kNaN}, warm, {.draw = draw}), 1);
    EXPECT_EQ(Pick({0, kInf, 3, kNaN}, warm, {.draw = draw}), 1);
  }
  EXPECT_EQ(Pick({kNaN, -kInf}, warm), kNoToken);
}

TEST(Sampler, AlmostNoTemperatureIsGreedyAndDoesNotOverflow) {
  for (const float temperature : {1e-3f, 1e-7f, 1e-38f}) {
    EXPECT_EQ(Pick({1, 3, 2}, {.temperature = temperature}), 1) << temperature;
  }
}

TEST(Sampler, AHugeBiasForcesOrForbids) {
  SamplingParams params = Greedy();
  params.logit_bias = {{0, 100.0f}, {1, -100.0f}};
  EXPECT_EQ(Pick({1, 30, 2}, params), 0);
  params.logit_bias = {{0, 3e38f}, {0, 3e38f}, {2, 3e38f}};
  EXPECT_EQ(Pick({3e38f, 30, 2}, params), 0);
}

TEST(Sampler, BannedTokensAreNeverChosen) {
  const std::vector<TokenId> banned{1, 2};
  EXPECT_EQ(Pick({1, 30, 20, 0}, Greedy(), {.banned = banned}), 0);
  const std::vector<TokenId> all{0, 1};
  EXPECT_EQ(Pick({1, 2}, Greedy(), {.banned = all}), kNoToken);
}

TEST(Sampler, OnlyWhatTheMaskAllowsIsChosenWhateverTheParameters) {
  TokenMask mask(100);
  for (const TokenId id : {3, 64, 99}) mask.Allow(id);
  std::vector<float> logits(130);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 17);
  logits[64] = -40.0f;  // unlikely, but more likely than tokens that are not allowed
  const SamplingParams hot{.temperature = 2.0f};
  const SamplingParams cut{.temperature = 1.0f, .top_k = 2, .top_p = 0.5f, .min_p = 0.3f};
  const SamplingParams biased{.temperature = 1.0f, .logit_bias = {{5, 100.0f}, {120, 100.0f}}};
  const SamplingParams steady{.temperature = 1.0f, .mirostat = true};
  for (const auto& params : {Greedy(), hot, cut, biased, steady}) {
    for (uint64_t draw = 0; draw < 50; ++draw) {
      EXPECT_TRUE(mask.Allows(Pick(logits, params, {.draw = draw, .mask = &mask})));
    }
  }
  const std::vector<TokenId> banned{3, 99};
  EXPECT_EQ(Pick(logits, Greedy(), {.banned = banned, .mask = &mask}), 64);
  const TokenMask none(100);
  EXPECT_EQ(Pick(logits, hot, {.mask = &none}), kNoToken);
}

// Rows lie one behind the other, and a vocabulary is seldom a multiple of the mask's 64 tokens a word.
TEST(Sampler, AMaskChangesNoOtherRow) {
  for (const size_t vocabulary : {1u, 63u, 64u, 65u, 130u}) {
    TokenMask mask(vocabulary);
    mask.Allow(0);
    std::vector<float> rows(vocabulary + 128, 1.0f);
    const SampleContext context{.mask = &mask};
    EXPECT_EQ(Sampler().Sample(std::span(rows).first(vocabulary), Greedy(), context).token, 0);
    EXPECT_EQ(std::ranges::count(std::span(rows).subspan(vocabulary), 1.0f), 128) << vocabulary;
  }
}

TEST(Sampler, RepetitionPenaltyActsOncePerTokenOnPromptAndOutput) {
  SamplingParams params = Greedy();
  params.repetition_penalty = 2.0f;
  const std::vector<TokenId> history{0, 0, 0, 1};
  const SampleContext context{.history = history, .prompt_tokens = 2};
  EXPECT_EQ(Pick({4, 3, 2.1f}, params, context), 2);     // 2, 1.5, 2.1
  EXPECT_EQ(Pick({4, 3, 1.9f}, params, context), 0);     // once, not three times
  EXPECT_EQ(Pick({-1, -2, -1.9f}, params, context), 2);  // negative logits are multiplied: -2, -4
}

TEST(Sampler, PresenceAndFrequencyCountTheOutputOnly) {
  const std::vector<TokenId> history{2, 2, 0, 0, 1};
  const SampleContext context{.history = history, .prompt_tokens = 2};
  SamplingParams params = Greedy();
  params.presence_penalty = 1.0f;
  EXPECT_EQ(Pick({3, 2.5f, 1.9f}, params, context), 0);  // 2, 1.5, 1.9
  params.frequency_penalty = 0.5f;
  EXPECT_EQ(Pick({3, 2.5f, 1.9f}, params, context), 2);  // 1, 1, 1.9: tokens that only the prompt has are not penalised
}

TEST(Sampler, TheSameSeedAndDrawGiveTheSameToken) {
  const std::vector<float> logits(100, 0.0f);
  SamplingParams params{.seed = 7};
  int changed_by_draw = 0, changed_by_seed = 0;
  for (uint64_t draw = 0; draw < 100; ++draw) {
    const TokenId token = Pick(logits, params, {.draw = draw});
    EXPECT_EQ(token, Pick(logits, params, {.draw = draw}));
    changed_by_draw += token != Pick(logits, params, {.draw = draw + 1});
    changed_by_seed += token != Pick(logits, {.seed = 8}, {.draw = draw});
  }
  EXPECT_GT(changed_by_draw, 90);
  EXPECT_GT(changed_by_seed, 90);
}

TEST(Sampler, DrawsFollowTheReferenceDistribution) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> logits(200);
  for (float& logit : logits) logit = std::round(normal(random) * 4) / 4;  // with ties
  const std::vector<SamplingParams> cases{
      {},
      {.temperature = 0.7f},
      {.temperature = 1.8f},
      {.top_k = 1},
      {.top_k = 5},
      {.top_k = 90},
      {.top_k = 5000},
      {.top_p = 0.3f},
      {.top_p = 0.95f},
      {.top_p = 0.0f},
      {.min_p = 0.05f},
      {.min_p = 1.0f},
      {.temperature = 1.5f, .top_k = 40, .top_p = 0.8f, .min_p = 0.02f},
      {.temperature = 1.5f, .top_p = 0.999f, .min_p = 0.001f},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_LT(Deviation(logits, {.params = cases[i]}, 20000), 4.0) << "case " << i;
  }
  EXPECT_LT(Deviation(std::vector<float>(1000, 1.0f), {.params = {.top_p = 0.5f}}, 20000), 4.0)
      << "a flat distribution";
}

TEST(Sampler, LogprobsAreTheModelsOwnWhateverIsApplied) {
  SamplingParams params{.temperature = 0.1f, .top_k = 1, .presence_penalty = 2.0f};
  params.logit_bias = {{3, 50.0f}};
  std::vector<float> logits{1, 2, 0.5f, -1, 2};
  double total = 0.0;
  for (const float logit : logits) total += std::exp(double{logit});
  const auto expected = [&](float logit) { return logit - std::log(total); };

  const auto result = Sampler().Sample(logits, params, {.top_logprobs = 3});
  EXPECT_EQ(result.token, 3);
  EXPECT_EQ(result.chosen.id, 3);
  EXPECT_NEAR(result.chosen.logprob, expected(-1), 1e-6);
  ASSERT_EQ(result.top.size(), 3u);
  EXPECT_EQ(result.top[0].id, 1);
  EXPECT_EQ(result.top[1].id, 4);
  EXPECT_EQ(result.top[2].id, 0);
  EXPECT_NEAR(result.top[2].logprob, expected(1), 1e-6);
}

TEST(Sampler, TopLogprobsOfABigRowAreTheRightOnes) {
  std::mt19937 random(2);
  std::vector<float> logits(50000);
  for (float& logit : logits) logit = static_cast<float>(random() % 4000) / 100.0f;
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](TokenId a, TokenId b) { return logits[a] > logits[b]; });
  auto row = logits;
  const auto result = Sampler().Sample(row, {}, {.top_logprobs = 20});
  ASSERT_EQ(result.top.size(), 20u);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(result.top[i].id, order[i]) << i;
}

}  // namespace
}  // namespace inferflux::engine
