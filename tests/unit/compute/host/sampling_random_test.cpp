// The random numbers of samplers: the published results of Philox4x32-10, and which bits become a uniform number; with
// what is left to check of states, pages and routing.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "compute/host/check_matrix.h"
#include "compute/host/copies.h"
#include "compute/host/moe_routing.h"
#include "compute/host/pages.h"
#include "compute/host/states.h"
#include "compute/sampling_random.h"

namespace inferflux::compute {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(SamplingRandom, IsPhilox) {
  constexpr uint32_t kOnes = 0xffffffffu;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(SamplingRandom, AUniformNumberDependsOnSeedDrawAndUse) {
  EXPECT_EQ(Uniform(0, 0, RandomUse::kToken), 0x1.989fa35785a70p-2);
  EXPECT_EQ(Uniform(uint64_t{1} << 33 | 5, uint64_t{7} << 32 | 9, RandomUse::kXtc), 0x1.956e61ad61020p-4);
  EXPECT_EQ(Uniform(2, 1, RandomUse::kToken), 0x1.2e48da73b20d0p-4);
  EXPECT_EQ(Uniform(~uint64_t{0}, ~uint64_t{0}, RandomUse::kXtc), 0x1.179b0730680e4p-1);
}

TEST(HostLimits, StatesHaveAMost) {
  const auto said = [](std::vector<int64_t> layers, int32_t slots) {
    const auto states = host::CreateStates({.layers = std::move(layers), .slots = slots});
    return states ? "made" : states.error().message;
  };
  EXPECT_EQ(said({0}, 1), "made");
  EXPECT_EQ(said({3, 4}, 2), "made");
  EXPECT_EQ(said({(int64_t{1} << 28) + 1}, 1 << 20), "1048576 recurrent states of 1073741828 bytes each");
  EXPECT_EQ(said({1}, -1), "-1 recurrent states of 4 bytes each");
}

TEST(HostLimits, PagesAreCountedInMebibytes) {
  EXPECT_EQ(host::Pages::Allocate(size_t{1} << 62, "a test").error().message,
            "no memory for a test: 4398046511104 MiB asked for");
  const auto none = host::Pages::Allocate(0, "a test");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->data(), nullptr);
  EXPECT_EQ(none->size(), 0u);
  auto some = host::Pages::Allocate(5000, "a test");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->size(), 5000u);
  some->data()[4999] = std::byte{1};
}

host::View RowOf(const std::vector<float>& values) {
  const auto n = static_cast<int64_t>(values.size());
  return {values.data(), 1, n, n};
}

TEST(HostLimits, ScoresThatUnderflowAreDividedByTheLeastSum) {
  const std::vector<float> logits{-60.0f, -70.0f};
  RoutingParams params{.used = 2, .normalise = true, .score = ExpertScore::kSigmoid};
  const auto routing = host::Route(RowOf(logits), params);
  EXPECT_NEAR(routing.weights[0] / (std::exp(-60.0) / double{kLeastScoreSum}), 1.0, 1e-6);
  EXPECT_NEAR(routing.weights[1] / (std::exp(-70.0) / double{kLeastScoreSum}), 1.0, 1e-6);
  const std::vector<float> usual{0.0f, std::log(3.0f)};
  const auto normal = host::Route(RowOf(usual), params);
  EXPECT_EQ(normal.experts, (std::vector<int32_t>{1, 0}));
  EXPECT_NEAR(normal.weights[0], 0.6, 1e-6);
  EXPECT_NEAR(normal.weights[1], 0.4, 1e-6);
}

TEST(HostLimits, EachPartOfAMatrixIsChecked) {
  const std::vector<std::byte> bytes(64);
  HostMatrix good{.name = "a", .type = formats::TensorType::kF32, .rows = 2, .cols = 8, .data = bytes};
  HostMatrix other = good;
  other.name = "b";
  other.rows = -1;
  EXPECT_EQ(host::CheckParts(std::vector{good, other}).error().message, "b is [-1, 8]: empty");
  other.rows = 2;
  other.cols = -8;
  EXPECT_EQ(host::CheckParts(std::vector{good, other}).error().message, "b is [2, -8]: empty");
  other.cols = 8;
  other.rows = int64_t{1} << 62;
  EXPECT_EQ(host::CheckParts(std::vector{good, other}).error().message,
            "b holds 64 bytes, not what [4611686018427387904, 8] of its type takes");
  const auto layout =
      std::make_shared<formats::WeightLayout>(formats::Fp8Layout{.block_outputs = 2, .block_inputs = 8});
  const std::vector<float> scales{2};
  std::get<formats::Fp8Layout>(*layout).values = std::span(bytes).first(16);
  std::get<formats::Fp8Layout>(*layout).scales = scales;
  other.rows = 2;
  other.layout = layout;
  EXPECT_TRUE(host::CheckParts(std::vector{good, other}));
  EXPECT_EQ(host::TypesOf(std::vector{good, other}), "F32+FP8");
  EXPECT_EQ(host::StoredBytesOf(other), 20);
}

}  // namespace
}  // namespace inferflux::compute
