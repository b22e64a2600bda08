// Attention over latents in MLX's KV arrays, and the selection of positions.
#include "compute/latents_test.h"

#include <mlx/ops.h>

#include <numeric>
#include <vector>

#include "compute/mlx/mlx_test.h"

namespace inferflux::compute::testing {
namespace {

class SelectingMlxTest : public MlxTest {
 protected:
  // A sequence of which nothing is selected reads all positions.
  static std::vector<std::vector<int32_t>> Positions(const Mlx::Selection& selected, const StepGeometry& step) {
    std::vector<std::vector<int32_t>> out;
    for (size_t s = 0; s < selected.sequences.size(); ++s) {
      const int32_t first = step.query_starts[s], last = step.query_starts[s + 1];
      for (int32_t r = 0; r < last - first; ++r) {
        auto& row = out.emplace_back();
        if (!selected.sequences[s]) {
          row.resize(static_cast<size_t>(step.positions[static_cast<size_t>(last - 1)]) + 1);
          std::iota(row.begin(), row.end(), 0);
          continue;
        }
        mlx::core::array chosen = mlx::core::take(*selected.sequences[s], r, 0);
        chosen.eval();
        row.assign(chosen.data<int32_t>(), chosen.data<int32_t>() + chosen.size());
      }
    }
    return out;
  }
};
using MlxLatentsTest = LatentsTest<Mlx, SelectingMlxTest>;

TEST_F(MlxLatentsTest, EqualTheReferenceForEveryKvTypeAndOrderOfBlocks) {
  const std::vector<int32_t> lengths{1, 40, 130, 9, 70}, cuts{0, 39, 70, 9, 69};
  for (const bool shuffled : {false, true}) {
    for (const int32_t heads : {1, 3, 8}) {
      const LatentShape shape{.heads = heads, .latent = 20, .rotated = 6, .block_size = 16};
      EqualsReference<KvFp32>(shape, lengths, cuts, shuffled, 2e-6);
      EqualsReference<KvFp16>(shape, lengths, cuts, shuffled, 2e-6);
      EqualsReference<KvBf16>(shape, lengths, cuts, shuffled, 2e-6);
    }
  }
}

TEST_F(MlxLatentsTest, RowsReadWhatTheySelect) {
  const LatentShape shape{.heads = 3, .latent = 20, .rotated = 6, .block_size = 16, .top = 40};
  for (const bool shuffled : {false, true}) {
    EqualsReference<KvFp32>(shape, {1, 41, 330, 9, 70}, {0, 40, 170, 9, 69}, shuffled, 2e-6);
    EqualsReference<KvFp16>(shape, {1, 41, 330, 9, 70}, {0, 40, 170, 9, 69}, shuffled, 2e-6);
  }
}

TEST_F(MlxLatentsTest, LongContexts) {
  ALongContextEqualsReference<KvFp16>({.heads = 9, .latent = 20, .rotated = 6, .block_size = 16}, 2100, 2e-6);
}

TEST_F(MlxLatentsTest, EqualScoresGoToTheLowerPosition) {
  TiesGoToTheLowerPosition({.heads = 1, .latent = 4, .rotated = 2, .block_size = 16, .index = 3, .top = 25},
                           {1, 90, 26, 200});
}

TEST_F(MlxLatentsTest, EachHeadMultipliesByItsOwnMatrix) {
  using enum formats::TensorType;
  EachHeadHasItsOwnMatrix(kF32, 3, 1, 7, 10, {1, 5}, 2e-6);
  EachHeadHasItsOwnMatrix(kBf16, 5, 2, 7, 10, {1, 5}, 2e-6);
  EachHeadHasItsOwnMatrix(kQ8_0, 3, 1, 32, 64, {1, 5, 70}, 2e-5);
  EachHeadHasItsOwnMatrix(kQ4_K, 3, 2, 32, 256, {1, 5}, 2e-5);
}

TEST_F(MlxLatentsTest, ACopiedBlockHoldsTheSameLatents) {
  const LatentShape shape{.heads = 3, .latent = 5, .rotated = 3, .block_size = 4};
  auto cache = *Mlx::CreateKvCache<KvFp32>(context, shape.Kv(3));
  StepGeometry step{.tokens = {0, 0},
                    .positions = {0, 1},
                    .query_starts = {0, 2},
                    .table_starts = {0, 1},
                    .block_tables = {0},
                    .block_size = 4};
  const auto q = On(Random(2, 15)), rotated = On(Random(2, 9));
  const Mlx::Batch batch = Mlx::LoadBatch(context, step);
  Mlx::AppendLatents<KvFp32>(context, cache, 0, On(Random(2, 5)), On(Random(2, 3)), batch);
  const auto attend = [&](const Mlx::Batch& at) {
    return Mlx::Read(context,
                     Mlx::AttendLatents<KvFp32>(context, q, rotated, cache, 0, at, shape.Attention(), nullptr));
  };
  const auto before = attend(batch);
  Mlx::CopyBlock<KvFp32>(context, cache, 0, 2);
  size_t bytes = 0;
  Mlx::VisitKvBlock<KvFp32>(cache, 2, [&](std::span<std::byte> piece) { bytes += piece.size(); });
  EXPECT_EQ(bytes, 2u * 4u * 8u * sizeof(float)) << "two layers of four rows, and no second array";
  step.block_tables = {2};
  EXPECT_EQ(attend(Mlx::LoadBatch(context, step)), before);
}

}  // namespace
}  // namespace inferflux::compute::testing
