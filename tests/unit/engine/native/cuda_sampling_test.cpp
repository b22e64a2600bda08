// Tokens that the CUDA backend samples on the device, beside those that the host's sampler draws from the same logits
// with the same random numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "compute/cuda/cuda_backend.h"
#include "compute/cuda/host_runtime.h"
#include "engine/sampling/sampler.h"

namespace inferflux::engine {
namespace {

using compute::Cuda;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class CudaSampling : public ::testing::Test {
 protected:
  CudaSampling() {
    auto opened = Cuda::Context::Open(*cuda::HostRuntime::Open({.checked = false}));
    EXPECT_TRUE(opened);
    context_ = std::move(*opened);
  }

  std::vector<float> RandomLogits(int64_t count, float width = 3.0f) {
    std::normal_distribution<float> normal(0.0f, width);
    std::vector<float> out(static_cast<size_t>(count));
    for (float& value : out) value = normal(random_);
    return out;
  }

  // The tokens of rows that share their logits.
  std::vector<TokenId> OnDevice(const std::vector<float>& logits, const std::vector<compute::SampleRow>& rows) {
    std::vector<float> all;
    for (size_t i = 0; i < rows.size(); ++i) all.insert(all.end(), logits.begin(), logits.end());
    Cuda::Buffer held = Cuda::LoadVector(*context_, all);
    held.rows = std::ssize(rows);
    held.cols = std::ssize(logits);
    for (const auto& row : rows) EXPECT_TRUE(Cuda::CanSample(row));
    const auto tokens = Cuda::Sample(*context_, held, rows);
    EXPECT_TRUE(tokens) << tokens.error().message;
    std::vector<TokenId> out;
    for (const auto& token : *tokens) out.push_back(token.token);
    return out;
  }

  void ExpectHostsChoice(const std::vector<float>& logits, const std::vector<SamplingParams>& params,
                         const SampleContext& base = {}, int draws = 6) {
    std::vector<compute::SampleRow> rows;
    for (const SamplingParams& each : params) {
      for (int draw = 0; draw < draws; ++draw) {
        rows.push_back({.params = &each, .context = base});
        rows.back().context.draw = static_cast<uint64_t>(draw);
      }
    }
    const auto tokens = OnDevice(logits, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::vector<float> row = logits;
      const TokenId expected = Sampler().Sample(row, *rows[i].params, rows[i].context).token;
      EXPECT_EQ(tokens[i], expected) << "setting " << i / static_cast<size_t>(draws) << ", draw "
                                     << rows[i].context.draw;
    }
  }

  std::unique_ptr<Cuda::Context> context_;
  std::mt19937 random_{20261125};
};

TEST_F(CudaSampling, DrawsWhatTheHostDraws) {
  const std::vector<SamplingParams> params = {
      {.temperature = 0.0f},
      {.temperature = 1e-7f},
      {.seed = 1},
      {.temperature = 0.3f, .seed = 2},
      {.temperature = 5.0f, .seed = 3},
      {.top_k = 1, .seed = 4},
      {.top_k = 7, .seed = 5},
      {.top_k = 100000, .seed = 6},
      {.top_p = 0.9f, .seed = 7},
      {.top_p = 0.0f, .seed = 8},
      {.temperature = 2.0f, .top_p = 0.999f, .seed = 9},
      {.min_p = 0.05f, .seed = 10},
      {.min_p = 2.0f, .seed = 11},
      {.temperature = 1.5f, .top_k = 40, .top_p = 0.8f, .min_p = 0.01f, .seed = 12},
      {.top_p = 0.7f, .min_p = 0.2f, .seed = 13},
  };
  for (const int64_t count : {1, 3, 65, 517, 2500}) {
    SCOPED_TRACE(count);
    ExpectHostsChoice(RandomLogits(count), params, {}, count > 1000 ? 1 : 3);
  }
  ExpectHostsChoice(RandomLogits(130), params, {}, 30);
  ExpectHostsChoice(std::vector<float>(70, 1.25f), params);  // ties: the lower ids first
}

TEST_F(CudaSampling, ChangesLogitsAsTheHostDoes) {
  const std::vector<TokenId> history = {3, 9, 9, 4, 9, 17, 3, 255};
  const std::vector<TokenId> banned = {11, 12, 3};
  TokenMask mask(250);  // tokens from 250 on are never allowed
  for (TokenId id = 0; id < 250; id += 3) mask.Allow(id);
  const std::vector<SamplingParams> params = {
      {.temperature = 0.0f, .repetition_penalty = 1.4f},
      {.repetition_penalty = 0.7f, .presence_penalty = 0.8f, .frequency_penalty = 0.4f, .seed = 1},
      {.frequency_penalty = -1.0f, .logit_bias = {{9, 4.0f}, {30, -100.0f}, {0, 3.5f}}, .seed = 2},
      {.temperature = 0.0f, .logit_bias = {{12, 100.0f}, {13, 90.0f}, {15, 80.0f}}},
      {.top_k = 5, .presence_penalty = 3.0f, .logit_bias = {{3, 1e38f}, {6, 3e38f}}, .seed = 3},
  };
  const auto logits = RandomLogits(300);
  ExpectHostsChoice(logits, params, {.history = history, .prompt_tokens = 3});
  ExpectHostsChoice(logits, params, {.history = history, .prompt_tokens = 3, .banned = banned});
  ExpectHostsChoice(logits, params, {.history = history, .prompt_tokens = 3, .banned = banned, .mask = &mask});
}

TEST_F(CudaSampling, BrokenLogitsAndNothingToChoose) {
  const std::vector<SamplingParams> params = {
      {.temperature = 0.0f}, {.seed = 1}, {.top_k = 2, .top_p = 0.9f, .seed = 2}};
  ExpectHostsChoice({kNaN, 1.0f, kInf, 2.0f, kInf, -kInf}, params);
  ExpectHostsChoice({kNaN, -kInf, kNaN}, params);
  ExpectHostsChoice({-0.0f, 0.0f, -1.0f}, params);
  const TokenMask nothing(3);
  ExpectHostsChoice({1.0f, 2.0f, 3.0f}, params, {.mask = &nothing});
}

TEST_F(CudaSampling, LeavesWhatItLacksToTheHost) {
  const SamplingParams plain;
  EXPECT_TRUE(Cuda::CanSample({.params = &plain}));
  EXPECT_FALSE(Cuda::CanSample({.params = &plain, .context = {.top_logprobs = 0}}));
  for (const SamplingParams& params :
       {SamplingParams{.top_n_sigma = 1.0f}, SamplingParams{.typical_p = 0.9f}, SamplingParams{.xtc_probability = 0.1f},
        SamplingParams{.dry_multiplier = 0.8f}, SamplingParams{.mirostat = true}}) {
    EXPECT_FALSE(Cuda::CanSample({.params = &params}));
  }
}

}  // namespace
}  // namespace inferflux::engine
