// Attention over MLX's KV arrays.
#include "compute/attention_test.h"
#include "compute/mlx/mlx_test.h"

namespace inferflux::compute::testing {
namespace {

using MlxAttentionTest = AttentionTest<Mlx, MlxTest>;

TEST_F(MlxAttentionTest, EqualsReferenceForEveryKvTypeAndOrderOfBlocks) {
  const AttentionShape shape{.heads = 4, .kv_heads = 2, .head_dim = 32, .block_size = 16};
  for (const bool shuffled : {false, true}) {
    EqualsReference<KvFp32>(shape, {1, 40, 130, 9}, {0, 39, 70, 9}, shuffled, 2e-6);
    EqualsReference<KvFp16>(shape, {1, 40, 130, 9}, {0, 39, 70, 9}, shuffled, 2e-6);
    EqualsReference<KvBf16>(shape, {1, 40, 130, 9}, {0, 39, 70, 9}, shuffled, 2e-6);
  }
}

TEST_F(MlxAttentionTest, WindowsSoftcapsAndSinks) {
  for (const bool shuffled : {false, true}) {
    for (const AttentionShape& shape :
         {AttentionShape{4, 2, 32, 16, 1}, AttentionShape{4, 2, 32, 16, 20}, AttentionShape{4, 1, 32, 16, 0, 1.5f},
          AttentionShape{4, 4, 16, 8, 7, 3.0f}, AttentionShape{4, 2, 32, 16, 0, 0.0f, true},
          AttentionShape{4, 2, 32, 16, 12, 0.0f, true}, AttentionShape{4, 2, 32, 16, 12, 2.0f, true},
          AttentionShape{4, 2, 32, 16, 12, 0.0f, false, true}, AttentionShape{4, 2, 32, 16, 40, 2.0f, true, true}}) {
      EqualsReference<KvFp32>(shape, {60, 33, 5}, {59, 10, 0}, shuffled, 2e-6);
    }
  }
}

TEST_F(MlxAttentionTest, ACopiedBlockHoldsTheSameInEveryLayer) {
  const KvShape shape{std::vector<KvGeometry>(2, {2, 8}), 3, 4};
  auto cache = *Mlx::CreateKvCache<KvFp32>(context, shape);
  StepGeometry step{.tokens = {0, 0, 0, 0},
                    .positions = {0, 1, 2, 3},
                    .query_starts = {0, 4},
                    .table_starts = {0, 1},
                    .block_tables = {0},
                    .block_size = 4};
  const auto q = Random(4, 32), k = Random(4, 16), v = Random(4, 16);
  const AttentionParams params{4, 2, 8, 0.3f};
  const Mlx::Batch batch = Mlx::LoadBatch(context, step);
  for (const int32_t layer : {0, 1}) Mlx::Append<KvFp32>(context, cache, layer, On(k), On(v), batch);
  const auto before = Mlx::Read(context, Mlx::Attend<KvFp32>(context, On(q), cache, 0, batch, params));
  Mlx::CopyBlock<KvFp32>(context, cache, 0, 2);
  step.block_tables = {2};
  const Mlx::Batch moved = Mlx::LoadBatch(context, step);
  for (const int32_t layer : {0, 1}) {
    EXPECT_EQ(Mlx::Read(context, Mlx::Attend<KvFp32>(context, On(q), cache, layer, moved, params)), before);
  }
}

// A step must cost only what it writes, not the size of the whole store.
TEST_F(MlxAttentionTest, StepsAndCopiesWriteTheStoreInPlace) {
  const KvShape shape{std::vector<KvGeometry>(1, {2, 8}), 64, 4};
  auto cache = *Mlx::CreateKvCache<KvFp32>(context, shape);
  const auto* keys = (*cache.layers)[0].keys.data<float>();
  StepGeometry step{.tokens = {0},
                    .positions = {0},
                    .query_starts = {0, 1},
                    .table_starts = {0, 1},
                    .block_tables = {0},
                    .block_size = 4};
  const AttentionParams params{4, 2, 8, 0.3f};
  for (int32_t position = 0; position < 4; ++position) {
    step.positions = {position};
    const Mlx::Batch batch = Mlx::LoadBatch(context, step);
    Mlx::Append<KvFp32>(context, cache, 0, On(Random(1, 16)), On(Random(1, 16)), batch);
    Mlx::Read(context, Mlx::Attend<KvFp32>(context, On(Random(1, 32)), cache, 0, batch, params));
    EXPECT_EQ((*cache.layers)[0].keys.data<float>(), keys) << position;
  }
  Mlx::CopyBlock<KvFp32>(context, cache, 0, 9);
  Mlx::Read(context, On(Random(1, 1)));
  EXPECT_EQ((*cache.layers)[0].keys.data<float>(), keys);
}

TEST_F(MlxAttentionTest, RefusesShapesItCannotHold) {
  EXPECT_EQ(Mlx::CreateKvCache<KvFp16>(context, {{{1, 64}}, 0, 16}).error().code, ErrorCode::kInvalidArgument);
  constexpr int32_t kHuge = 1 << 30;
  EXPECT_EQ(Mlx::CreateKvCache<KvFp16>(context, {{{kHuge, 64}}, kHuge, 256}).error().code,
            ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace inferflux::compute::testing
