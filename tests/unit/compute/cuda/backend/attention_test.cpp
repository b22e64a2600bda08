// Attention over the CUDA backend's KV.
#include "compute/attention_test.h"
#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::compute::testing {
namespace {

using CudaAttention = AttentionTest<Cuda, CudaTest>;

// Keys and values are the same in both stores; queries are rounded too where tensor cores multiply them.
TEST_F(CudaAttention, EqualsReferenceForEveryKvType) {
  const std::vector<int32_t> lengths{1, 40, 130, 9}, cuts{0, 39, 70, 9};
  const AttentionShape tiled{.heads = 4, .kv_heads = 2, .head_dim = 32, .block_size = 16};
  EqualsReference<KvFp16>(tiled, lengths, cuts, true, 2e-3);
  EqualsReference<KvBf16>(tiled, lengths, cuts, true, 2e-2);
  const AttentionShape plain{.heads = 4, .kv_heads = 2, .head_dim = 24, .block_size = 16};
  EqualsReference<KvFp32>(plain, lengths, cuts, true, 2e-6);
  EqualsReference<KvFp16>(plain, lengths, cuts, false, 2e-6);
  EqualsReference<KvBf16>(plain, {33, 7}, {30, 0}, true, 2e-6);
  EqualsReference<KvInt8>(plain, {33, 7}, {30, 0}, true, 2e-6);
  EqualsReference<KvFp8>(plain, {33, 7}, {30, 0}, true, 2e-6);
}

TEST_F(CudaAttention, WindowsSoftcapsAndSinks) {
  for (const AttentionShape& shape :
       {AttentionShape{4, 2, 16, 16, 1}, AttentionShape{4, 2, 16, 16, 20}, AttentionShape{4, 1, 16, 16, 0, 1.5f},
        AttentionShape{4, 4, 16, 8, 7, 3.0f}, AttentionShape{4, 2, 32, 16, 0, 0.0f, true},
        AttentionShape{4, 2, 32, 16, 12, 2.0f, true}, AttentionShape{4, 2, 16, 16, 12, 0.0f, false, true}}) {
    EqualsReference<KvFp32>(shape, {60, 5}, {59, 0}, true, 2e-6);
  }
  EqualsReference<KvFp16>({4, 2, 32, 16, 12, 2.0f, true}, {140}, {137}, true, 2e-6);  // sinks: no tensor cores
}

TEST_F(CudaAttention, EncodersSeeTheirWholeText) {
  StepGeometry step{.tokens = std::vector<TokenId>(12),
                    .positions = {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4},
                    .query_starts = {0, 7, 12},
                    .table_starts = {0, 2, 4},
                    .block_tables = {3, 1, 0, 2},
                    .block_size = 4};
  const KvShape kv{std::vector<KvGeometry>(1, {2, 16}), 4, 4};
  auto theirs = *Reference::CreateKvCache<KvFp32>(reference, kv);
  auto ours = *Cuda::CreateKvCache<KvFp32>(context, kv);
  const auto q = Random(12, 32), k = Random(12, 32), v = Random(12, 32), biases = Random(1, 2 * 15);
  const Cuda::Batch batch = Cuda::LoadBatch(context, step);
  Reference::Append<KvFp32>(reference, theirs, 0, k, v, step);
  Cuda::Append<KvFp32>(context, ours, 0, On(k), On(v), batch);
  for (const int32_t window : {0, 2}) {
    const AttentionParams params{2, 2, 16, 0.3f, window, 0.0f, false};
    EXPECT_LT(Error(Cuda::Attend<KvFp32>(context, On(q), ours, 0, batch, params),
                    Reference::Attend<KvFp32>(reference, q, theirs, 0, step, params)),
              2e-6);
  }
  const AttentionParams params{2, 2, 16, 0.3f, 0, 0.0f, false};
  EXPECT_LT(Error(Cuda::AttendWithBiases<KvFp32>(context, On(q), ours, 0, batch, params, On(biases)),
                  Reference::AttendWithBiases<KvFp32>(reference, q, theirs, 0, step, params, biases)),
            2e-6);
}

TEST_F(CudaAttention, ACopiedOrRestoredBlockHoldsTheSameInEveryLayer) {
  const KvShape shape{std::vector<KvGeometry>(2, {2, 8}), 4, 4};
  auto cache = *Cuda::CreateKvCache<KvInt8>(context, shape);
  StepGeometry step{.tokens = {0, 0, 0},  // not a whole block
                    .positions = {0, 1, 2},
                    .query_starts = {0, 3},
                    .table_starts = {0, 1},
                    .block_tables = {0},
                    .block_size = 4};
  const auto q = Random(3, 32), k = Random(3, 16), v = Random(3, 16);
  const AttentionParams params{4, 2, 8, 0.3f};
  const Cuda::Batch batch = Cuda::LoadBatch(context, step);
  for (const int32_t layer : {0, 1}) Cuda::Append<KvInt8>(context, cache, layer, On(k), On(v), batch);
  const auto before = Cuda::Read(context, Cuda::Attend<KvInt8>(context, On(q), cache, 0, batch, params));
  Cuda::CopyBlock<KvInt8>(context, cache, 0, 2);
  std::vector<std::byte> saved;
  Cuda::VisitKvBlock<KvInt8>(
      cache, 0, [&](std::span<std::byte> piece) { saved.insert(saved.end(), piece.begin(), piece.end()); });
  EXPECT_EQ(saved.size(), 2u * 2u * 4u * (16u + 2u * sizeof(float)));
  size_t at = 0;
  Cuda::VisitKvBlock<KvInt8>(cache, 3, [&](std::span<std::byte> piece) {
    std::copy_n(saved.begin() + static_cast<int64_t>(at), piece.size(), piece.begin());
    at += piece.size();
  });
  for (const int32_t block : {2, 3}) {
    step.block_tables = {block};
    const Cuda::Batch moved = Cuda::LoadBatch(context, step);
    for (const int32_t layer : {0, 1}) {
      EXPECT_EQ(Cuda::Read(context, Cuda::Attend<KvInt8>(context, On(q), cache, layer, moved, params)), before);
    }
  }
}

}  // namespace
}  // namespace inferflux::compute::testing
