// Which draw decides what, by the numbers that the seed and the number of the draw give.
#include <gtest/gtest.h>

#include <cmath>

#include "compute/sampling_random.h"
#include "engine/sampling/sampler.h"

namespace inferflux::engine {
namespace {

using compute::RandomUse;
using compute::Uniform;

TokenId DrawnOf(std::vector<float> logits, const SamplingParams& params, uint64_t draw) {
  return Sampler().Sample(logits, params, {.draw = draw}).token;
}

// Probabilities of 0.7 and 0.3, far from all draws that are tried.
TEST(Draws, AreBySeedAndNumber) {
  const std::vector<float> logits{std::log(0.7f), std::log(0.3f)};
  int apart = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    for (uint64_t draw = 0; draw < 12; ++draw) {
      const double uniform = Uniform(seed, draw, RandomUse::kToken);
      ASSERT_GT(std::abs(uniform - 0.7), 1e-5);
      const TokenId expected = uniform < 0.7 ? 0 : 1;
      apart += expected != (Uniform(draw, seed, RandomUse::kToken) < 0.7 ? 0 : 1) ? 1 : 0;
      EXPECT_EQ(DrawnOf(logits, {.seed = seed}, draw), expected);
      EXPECT_EQ(DrawnOf(logits, {.min_p = 0.1f, .seed = seed}, draw), expected);
      EXPECT_EQ(DrawnOf(logits, {.min_p = 0.5f, .seed = seed}, draw), 0);
    }
  }
  EXPECT_GT(apart, 10);
}

// Both tokens are top choices, of which the less likely one is left, if the draw says so.
TEST(Draws, XtcHasADrawOfItsOwn) {
  const std::vector<float> logits{std::log(0.7f), std::log(0.3f)};
  int dropped = 0, apart = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    for (uint64_t draw = 0; draw < 12; ++draw) {
      const bool drops = Uniform(seed, draw, RandomUse::kXtc) < 0.5;
      dropped += drops ? 1 : 0;
      apart += drops != (Uniform(draw, seed, RandomUse::kXtc) < 0.5) ? 1 : 0;
      const TokenId without = Uniform(seed, draw, RandomUse::kToken) < 0.7 ? 0 : 1;
      EXPECT_EQ(DrawnOf(logits, {.xtc_probability = 0.5f, .xtc_threshold = 0.1f, .seed = seed}, draw),
                drops ? 1 : without)
          << seed << ", " << draw;
      EXPECT_EQ(DrawnOf(logits, {.xtc_probability = 1.0f, .xtc_threshold = 0.1f, .seed = seed}, draw), 1);
      EXPECT_EQ(DrawnOf(logits, {.xtc_probability = 1.0f, .xtc_threshold = 0.31f, .seed = seed}, draw), without)
          << "one top choice alone is never dropped";
    }
  }
  EXPECT_GT(dropped, 40);
  EXPECT_GT(apart, 10);
}

}  // namespace
}  // namespace inferflux::engine
