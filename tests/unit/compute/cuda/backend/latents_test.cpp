// Attention over latents in the CUDA backend's KV, and the selection of positions. Every access is checked.
#include "compute/latents_test.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/without_exceptions.h"
#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::compute::testing {
namespace {

class SelectingCudaTest : public CudaTest {
 protected:
  std::vector<std::vector<int32_t>> Positions(const Cuda::Selection& selected, const StepGeometry& step) {
    std::vector<std::vector<int32_t>> out(static_cast<size_t>(step.rows()));
    for (size_t r = 0; r < out.size(); ++r) {
      auto& row = out[r];
      const int32_t seen = step.positions[r] + 1;
      row.resize(static_cast<size_t>(selected.memory ? std::min(seen, selected.top) : seen));
      if (!selected.memory) {
        std::iota(row.begin(), row.end(), 0);
        continue;
      }
      const auto* from = static_cast<const int32_t*>(selected.memory.get()) + r * static_cast<size_t>(selected.top);
      EXPECT_TRUE(context.runtime->CopyToHost(row.data(), from, row.size() * sizeof(int32_t), context.stream));
      EXPECT_TRUE(context.runtime->Synchronize(context.stream));
      EXPECT_TRUE(std::ranges::is_sorted(row));
    }
    return out;
  }
};
using CudaLatents = LatentsTest<Cuda, SelectingCudaTest>;

TEST_F(CudaLatents, EqualTheReferenceForEveryKvType) {
  const std::vector<int32_t> lengths{1, 40, 130, 9, 70}, cuts{0, 39, 70, 9, 69};
  const LatentShape shape{.heads = 3, .latent = 20, .rotated = 6, .block_size = 16};
  ForEachKvType([&]<class E>(E) { EqualsReference<E>(shape, lengths, cuts, true, 2e-6); });
  for (const int32_t heads : {1, 8, 11}) {
    EqualsReference<KvFp16>({.heads = heads, .latent = 20, .rotated = 6, .block_size = 16}, {33, 7}, {30, 0}, false,
                            2e-6);
  }
}

// As wide as DeepSeek's: by tensor cores, for which queries and weights are rounded, where KV have 16 bits.
TEST_F(CudaLatents, AsWideAsDeepSeeks) {
  const LatentShape shape{.heads = 9, .latent = 512, .rotated = 64, .block_size = 16, .top = 34};
  EqualsReference<KvFp16>(shape, {40, 33, 1}, {38, 30, 0}, true, 2e-3);
  EqualsReference<KvBf16>(shape, {20, 3}, {18, 2}, true, 2e-2);
  EqualsReference<KvFp32>(shape, {20, 3}, {17, 2}, true, 2e-6);
  LatentShape more = shape;
  more.heads = 35;
  ALongContextEqualsReference<KvFp16>(more, 1060, 2e-3);
}

TEST_F(CudaLatents, RowsReadWhatTheySelect) {
  const LatentShape shape{.heads = 3, .latent = 20, .rotated = 6, .block_size = 16, .top = 40};
  const std::vector<int32_t> lengths{1, 41, 300, 9, 70}, cuts{0, 40, 290, 9, 69};
  EqualsReference<KvFp32>(shape, lengths, cuts, true, 2e-6);
  ForEachKvType([&]<class E>(E) { EqualsReference<E>(shape, {41, 90}, {40, 60}, false, 2e-6); });
}

TEST_F(CudaLatents, EqualScoresGoToTheLowerPosition) {
  TiesGoToTheLowerPosition({.heads = 1, .latent = 4, .rotated = 2, .block_size = 16, .index = 3, .top = 25},
                           {1, 90, 26, 600});
}

TEST_F(CudaLatents, EachHeadMultipliesByItsOwnMatrix) {
  using enum formats::TensorType;
  EachHeadHasItsOwnMatrix(kF32, 3, 1, 7, 10, {1, 5}, 2e-6);
  EachHeadHasItsOwnMatrix(kF16, 5, 2, 7, 10, {1, 5}, 2e-6);  // no whole step of the tensor cores
  EachHeadHasItsOwnMatrix(kQ8_0, 3, 1, 40, 64, {1, 4}, 2e-6);
  EachHeadHasItsOwnMatrix(kF16, 3, 2, 40, 48, {5, 70}, 2e-3);
  EachHeadHasItsOwnMatrix(kBf16, 3, 1, 70, 32, {5, 70}, 2e-2);
  EachHeadHasItsOwnMatrix(kQ8_0, 3, 1, 40, 64, {5}, 2e-3);
}

// What is read is cut into chunks of 1,024 positions.
TEST_F(CudaLatents, LongContextsAreSplit) {
  const LatentShape shape{.heads = 9, .latent = 20, .rotated = 6, .block_size = 16};
  ALongContextEqualsReference<KvFp32>(shape, 2100, 2e-6);
  ALongContextEqualsReference<KvInt8>(shape, 1024, 2e-6);
  ALongContextEqualsReference<KvFp16>(shape, 1026, 2e-6);
}

// A row of a batch, and the same row alone and in steps that are prepared for longer sequences; with and without a
// selection.
class CudaLatentsAlone : public CudaLatents {
 protected:
  void HaveTheBitsOfTheBatch(const LatentShape& shape, int32_t length) {
    const int32_t total = length + 5, width = shape.heads * shape.latent;
    PagedSequences sequences({length, 5}, shape.block_size, true, random);
    const StepGeometry all = sequences.StepTo({length, 5});
    auto cache = *Cuda::CreateKvCache<KvFp16>(context, shape.Kv(sequences.blocks()));
    const Cuda::Batch batch = Cuda::LoadBatch(context, all);
    Cuda::AppendLatents<KvFp16>(context, cache, 0, On(Random(total, shape.latent)), On(Random(total, shape.rotated)),
                                batch);
    Cuda::AppendIndex<KvFp16>(context, cache, 0, On(Random(total, shape.index)), batch);
    const auto q = Random(total, width), rotated = Random(total, shape.heads * shape.rotated);
    const auto index_q = Random(total, shape.index_heads * shape.index), weights = Random(total, shape.index_heads);

    // The last rows of the first sequence by themselves.
    const auto last = [&](int32_t count, int32_t most_tokens) {
      StepGeometry step = all;
      step.tokens.resize(static_cast<size_t>(count));
      step.positions.resize(static_cast<size_t>(count));
      std::iota(step.positions.begin(), step.positions.end(), length - count);
      step.query_starts = {0, count};
      step.table_starts.resize(2);
      step.most_tokens = most_tokens;
      return Cuda::LoadBatch(context, step);
    };
    const auto attend = [&](const Cuda::Batch& at, int32_t first, int32_t count, bool sparse) {
      const auto rows = [&](host::View x) { return On(Rows(x, first, count)); };
      Cuda::Selection selected;
      if (sparse) {
        selected = Cuda::SelectPositions<KvFp16>(context, rows(index_q), rows(weights), cache, 0, at, shape.Index());
      }
      return Cuda::Read(context, Cuda::AttendLatents<KvFp16>(context, rows(q), rows(rotated), cache, 0, at,
                                                             shape.Attention(), sparse ? &selected : nullptr));
    };
    for (const bool sparse : {false, true}) {
      const auto whole = attend(batch, 0, total, sparse);
      const auto rows = [&](int32_t count) {
        return std::vector<float>(whole.begin() + (length - count) * width, whole.begin() + length * width);
      };
      EXPECT_EQ(attend(last(1, 0), length - 1, 1, sparse), rows(1));
      EXPECT_EQ(attend(last(3, 3000), length - 3, 3, sparse), rows(3));
      if (sparse) continue;
      EXPECT_EQ(attend(last(6, 256 << 10), length - 6, 6, sparse), rows(6)) << "of so many chunks, few rows at a time";
    }
  }
};

TEST_F(CudaLatentsAlone, ARowsResultDoesNotDependOnTheBatch) {
  HaveTheBitsOfTheBatch({.heads = 3, .latent = 20, .rotated = 6, .block_size = 16, .top = 40}, 200);
  HaveTheBitsOfTheBatch({.heads = 2, .latent = 512, .rotated = 64, .block_size = 16, .top = 33}, 66);
}

TEST_F(CudaLatents, WhatTheKernelsCannotHoldIsNamed) {
  const StepGeometry step{.tokens = {0},
                          .positions = {0},
                          .query_starts = {0, 1},
                          .table_starts = {0, 1},
                          .block_tables = {0},
                          .block_size = 16};
  const LatentShape wide{.heads = 1, .latent = 1024, .rotated = 8, .block_size = 16};
  const auto cache = *Cuda::CreateKvCache<KvFp32>(context, wide.Kv(1));
  const Cuda::Batch batch = Cuda::LoadBatch(context, step);
  try {
    Cuda::AttendLatents<KvFp32>(context, On(Random(1, 1024)), On(Random(1, 8)), cache, 0, batch, wide.Attention(),
                                nullptr);
    FAIL();
  } catch (const ThrownError& error) {
    EXPECT_EQ(error.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(error.error().message.find("1032 values; at most 1024"), std::string::npos) << error.error().message;
  }
}

}  // namespace
}  // namespace inferflux::compute::testing
