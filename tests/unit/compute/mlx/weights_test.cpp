// Weights of every type on MLX, against the reference's dequantised ones.
#include "compute/mlx/mlx_test.h"

namespace inferflux::compute::testing {
namespace {

using formats::TensorType;

class MlxWeightsTest : public MlxTest, public ::testing::WithParamInterface<TensorType> {};

// Exact layouts differ only by the order of sums. Weights that become BF16 lose bits from the 9th on: at most 2^-9,
// 2e-3.
double Bound(TensorType type) {
  switch (type) {
    case TensorType::kQ6_K:
    case TensorType::kQ3_K:
    case TensorType::kIq4Nl:
      return 3e-3;
    default:
      return 2e-6;
  }
}

TEST_P(MlxWeightsTest, MatmulsEqualTheReference) {
  const OwnedMatrix owned = RandomMatrix(GetParam(), random, 40, 512);
  const auto ours = Mlx::LoadMatrix(context, {&owned.matrix, 1});
  const auto expected = Reference::LoadMatrix(reference, {&owned.matrix, 1});
  ASSERT_TRUE(ours && expected);
  for (const int rows : {1, 5, 64}) {
    const auto x = Random(rows, 512);
    EXPECT_LT(Error(Mlx::MatMul(context, On(x), *ours), Reference::MatMul(reference, x, *expected)), Bound(GetParam()))
        << rows << " rows, " << Mlx::Describe(*ours);
  }
}

TEST_P(MlxWeightsTest, EmbedsTheRowsOfItsTokens) {
  const OwnedMatrix owned = RandomMatrix(GetParam(), random, 50, 256);
  const StepGeometry step{.tokens = {0, 49, 7, 7}, .positions = {0, 1, 2, 3}, .query_starts = {}};
  const auto ours = Mlx::LoadTable(context, owned.matrix);
  const auto expected = Reference::LoadTable(reference, owned.matrix);
  ASSERT_TRUE(ours && expected);
  EXPECT_LT(
      Error(Mlx::Embed(context, *ours, Mlx::LoadBatch(context, step)), Reference::Embed(reference, *expected, step)),
      Bound(GetParam()));
}

TEST_P(MlxWeightsTest, ExpertsTakeTheRowsThatAreRoutedToThem) {
  std::vector<OwnedMatrix> owned;
  std::vector<std::vector<HostMatrix>> parts;
  for (int e = 0; e < 5; ++e) owned.push_back(RandomMatrix(GetParam(), random, 24, 256));
  for (int e = 0; e < 5; ++e) parts.push_back({owned[e].matrix, owned[(e + 1) % 5].matrix});
  const auto ours = Mlx::LoadExperts(context, parts);
  const auto expected = Reference::LoadExperts(reference, parts);
  ASSERT_TRUE(ours && expected);
  const auto logits = Random(9, 5), biases = Random(1, 5 * 48);
  const RoutingParams params{.used = 2, .normalise = true};
  const auto their_routing = Reference::Route(reference, logits, params);
  const auto our_routing = Mlx::Route(context, On(logits), params);
  for (const int rows : {9, 18}) {  // a row per token, or one per chosen expert
    const auto x = Random(rows, 256);
    const auto want = Reference::AddExpertBias(
        reference, Reference::ExpertMatMul(reference, x, *expected, their_routing), biases, their_routing);
    const auto have =
        Mlx::AddExpertBias(context, Mlx::ExpertMatMul(context, On(x), *ours, our_routing), On(biases), our_routing);
    EXPECT_LT(Error(have, want), Bound(GetParam()));
    EXPECT_LT(Error(Mlx::Combine(context, have, our_routing), Reference::Combine(reference, want, their_routing)),
              Bound(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MlxWeightsTest,
                         ::testing::Values(TensorType::kF32, TensorType::kF16, TensorType::kBf16, TensorType::kQ4_0,
                                           TensorType::kQ5_0, TensorType::kQ8_0, TensorType::kQ4_K, TensorType::kQ5_K,
                                           TensorType::kQ6_K, TensorType::kMxfp4),
                         [](const auto& info) { return std::string(TensorTypeName(info.param)); });

class MlxMixedWeightsTest : public MlxTest {};

TEST_F(MlxMixedWeightsTest, AnOutputThatIsTheEmbeddingIsHeldOnce) {
  const OwnedMatrix owned = RandomMatrix(TensorType::kQ8_0, random, 16, 64);
  const auto table = Mlx::LoadTable(context, owned.matrix);
  const auto output = Mlx::LoadMatrix(context, {&owned.matrix, 1});
  ASSERT_TRUE(table && output);
  EXPECT_EQ(output->parts[0].values.data<uint32_t>(), table->parts[0].values.data<uint32_t>());
}

// Q6_K has groups of 16, for which MLX has no layout.
TEST_F(MlxMixedWeightsTest, WhatHasNoFormTakesHalfTheMemoryInEightBitsAndSaysSo) {
  const OwnedMatrix owned = RandomMatrix(TensorType::kQ6_K, random, 40, 512);
  const auto expected = Reference::LoadMatrix(reference, {&owned.matrix, 1});
  const auto x = Random(5, 512);
  std::vector<std::string> notes;
  for (const bool requantise : {false, true}) {
    Mlx::Context own;
    own.requantise = requantise;
    const auto ours = Mlx::LoadMatrix(own, {&owned.matrix, 1});
    ASSERT_TRUE(ours && expected);
    EXPECT_LT(Error(Mlx::MatMul(own, On(x), *ours), Reference::MatMul(reference, x, *expected)),
              requantise ? 1e-2 : 3e-3);
    EXPECT_EQ(ours->parts[0].bits, requantise ? 8 : 0);
    notes.push_back(Mlx::LoadNotes(own).back());
  }
  EXPECT_NE(notes[0].find("Q6_K weights are held as bf16, at a loss"), std::string::npos) << notes[0];
  EXPECT_NE(notes[1].find("Q6_K weights are held as affine 8-bit groups of 32, at a loss"), std::string::npos)
      << notes[1];
}

// Values such as 1.5 q + 0.25, so that a wrong order of bits or a wrong sign shows.
TEST_F(MlxMixedWeightsTest, TypesWithAMinimumOfTheirOwn) {
  for (const TensorType type : {TensorType::kQ4_1, TensorType::kQ5_1}) {
    OwnedMatrix owned = RandomMatrix(type, random, 12, 64);
    const size_t block = owned.bytes.size() / 24;
    for (size_t at = 0; at < owned.bytes.size(); at += block) {
      const Fp16 scale_and_minimum[] = {ToFp16(0.015f), ToFp16(-0.2f)};
      std::memcpy(owned.bytes.data() + at, scale_and_minimum, sizeof(scale_and_minimum));
    }
    const auto x = Random(3, 64);
    const auto ours = Mlx::LoadMatrix(context, {&owned.matrix, 1});
    const auto expected = Reference::LoadMatrix(reference, {&owned.matrix, 1});
    ASSERT_TRUE(ours && expected);
    EXPECT_LT(Error(Mlx::MatMul(context, On(x), *ours), Reference::MatMul(reference, x, *expected)), 2e-6);
  }
}

TEST_F(MlxMixedWeightsTest, PartsOfSeveralTypesAreOneProductAndTheNotesSayWhatTheyCost) {
  std::vector<OwnedMatrix> owned;
  for (const TensorType type : {TensorType::kQ4_K, TensorType::kQ4_K, TensorType::kQ6_K}) {
    owned.push_back(RandomMatrix(type, random, 32, 256));
  }
  const std::vector<HostMatrix> parts{owned[0].matrix, owned[1].matrix, owned[2].matrix};
  const auto ours = Mlx::LoadMatrix(context, parts);
  const auto expected = Reference::LoadMatrix(reference, parts);
  ASSERT_TRUE(ours && expected);
  EXPECT_EQ(ours->parts.size(), 2u);
  const auto x = Random(4, 256);
  EXPECT_LT(Error(Mlx::MatMul(context, On(x), *ours), Reference::MatMul(reference, x, *expected)), 3e-3);
  const auto notes = Mlx::LoadNotes(context);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_NE(notes[1].find("Q4_K weights are held as affine 4-bit groups of 32"), std::string::npos) << notes[1];
  EXPECT_NE(notes[2].find("Q6_K weights are held as bf16"), std::string::npos) << notes[2];
}

// As on a GPU: 16-bit matmuls with 16-bit weights.
TEST_F(MlxMixedWeightsTest, ZeroPoint4IsCloseToQ8_0) {
  context.narrow_products = true;
  for (const TensorType type : {TensorType::kBf16, TensorType::kMxfp4}) {
    const OwnedMatrix owned = RandomMatrix(type, random, 40, 512);
    const auto ours = Mlx::LoadMatrix(context, {&owned.matrix, 1});
    const auto expected = Reference::LoadMatrix(reference, {&owned.matrix, 1});
    ASSERT_TRUE(ours && expected);
    const auto x = Random(5, 512);
    EXPECT_LT(Error(Mlx::MatMul(context, On(x), *ours), Reference::MatMul(reference, x, *expected)), 1e-2);
    if (type == TensorType::kBf16) continue;  // on a CPU, MLX gathers plain matrices only in float32
    const std::vector<std::vector<HostMatrix>> alone{{owned.matrix}};
    const auto experts = Mlx::LoadExperts(context, alone);
    ASSERT_TRUE(experts) << experts.error().message;
    const auto routing = Mlx::Route(context, On(Random(5, 1)), {.used = 1, .normalise = true});
    EXPECT_LT(Error(Mlx::ExpertMatMul(context, On(x), *experts, routing), Reference::MatMul(reference, x, *expected)),
              1e-2);
  }
}

TEST_F(MlxMixedWeightsTest, AMatrixThatLiesAboutItsSizeIsRefused) {
  OwnedMatrix owned = RandomMatrix(TensorType::kQ8_0, random, 8, 64);
  owned.matrix.rows = 9;
  const auto loaded = Mlx::LoadMatrix(context, {&owned.matrix, 1});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace inferflux::compute::testing
