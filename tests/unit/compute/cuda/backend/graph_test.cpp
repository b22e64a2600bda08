// Captured steps: replayed on other inputs they give a plain step's bits, and a capture that cannot be is refused.
// Every access is checked.
#include <numeric>

#include "base/without_exceptions.h"
#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::compute::testing {
namespace {

using formats::TensorType;

constexpr int32_t kHeadDim = 32, kHeads = 2, kBlockSize = 16, kBlocksEach = 80, kVocab = 30;
constexpr int64_t kWidth = int64_t{kHeads} * kHeadDim;
const AttentionParams kAttention{.heads = kHeads, .kv_heads = 1, .head_dim = kHeadDim, .scale = 0.2f};
const RopeParams kRope{.heads = kHeads, .head_dim = kHeadDim};

class CudaGraph : public CudaTest {
 protected:
  CudaGraph() {
    const auto embedding = RandomMatrix(TensorType::kF16, random, kVocab, kWidth);
    const auto weights = RandomMatrix(TensorType::kQ8_0, random, kWidth + 2 * kHeadDim, kWidth);
    table_ = *Cuda::LoadTable(context, embedding.matrix);
    matrix_ = *Cuda::LoadMatrix(context, {&weights.matrix, 1});
    cache_ = *Cuda::CreateKvCache<KvFp16>(context, {{{1, kHeadDim}}, 3 * kBlocksEach, kBlockSize});
    for (int pair = 0; pair < kHeadDim / 2; ++pair) rope_.inverse_frequencies.push_back(1.0f / (1.0f + pair));
    std::vector<int32_t> positions(kBlocksEach * kBlockSize);
    std::iota(positions.begin(), positions.end(), 0);
    for (int32_t sequence = 0; sequence < 3; ++sequence) {  // keys and values of long contexts
      const Cuda::Batch batch = Cuda::LoadBatch(context, StepOf({sequence}, positions));
      const auto rows = std::ssize(positions);
      Cuda::Append<KvFp16>(context, cache_, 0, On(Random(rows, kHeadDim)), On(Random(rows, kHeadDim)), batch);
    }
  }

  // One token of each of these sequences, or, of a single one, several.
  static StepGeometry StepOf(const std::vector<int32_t>& sequences, const std::vector<int32_t>& positions) {
    StepGeometry step{.positions = positions, .block_size = kBlockSize};
    const bool decode = sequences.size() == positions.size();
    for (size_t row = 0; row < positions.size(); ++row) {
      step.tokens.push_back(static_cast<TokenId>((7 * positions[row] + static_cast<int32_t>(row)) % kVocab));
      if (decode) step.query_starts.push_back(static_cast<int32_t>(row));
    }
    if (!decode) step.query_starts.push_back(0);
    step.query_starts.push_back(step.rows());
    for (const int32_t sequence : sequences) {
      step.table_starts.push_back(static_cast<int32_t>(step.block_tables.size()));
      for (int32_t block = 0; block < kBlocksEach; ++block) step.block_tables.push_back(3 * block + sequence);
    }
    step.table_starts.push_back(static_cast<int32_t>(step.block_tables.size()));
    return step;
  }

  // A layer's attention, and two copies from the host that are the same in every step.
  Cuda::Buffer Step(const Cuda::Batch& batch) {
    const auto x = Cuda::Embed(context, table_, batch);
    const auto qkv = Cuda::MatMul(context, x, matrix_);
    const auto angles = Cuda::RopeAngles(context, batch, rope_);
    const auto q = Cuda::Rope(context, Cuda::Columns(qkv, 0, kWidth), angles, kRope);
    Cuda::Append<KvFp16>(context, cache_, 0, Cuda::Columns(qkv, kWidth, kHeadDim),
                         Cuda::Columns(qkv, kWidth + kHeadDim, kHeadDim), batch);
    const auto y = Cuda::Add(context, x, Cuda::Attend<KvFp16>(context, q, cache_, 0, batch, kAttention));
    std::vector<int32_t> rows(static_cast<size_t>(y.rows));
    std::iota(rows.rbegin(), rows.rend(), 0);
    return Cuda::GatherRows(context, y, rows);
  }

  Cuda::Table table_;
  Cuda::Matrix matrix_;
  Cuda::KvCache<KvFp16> cache_;
  RopeSpec rope_;
};

TEST_F(CudaGraph, ReplaysOnOtherInputsWithThePlainStepsBits) {
  StepGeometry first = StepOf({0, 1, 2}, {4, 9, 0});
  first.most_tokens = kBlocksEach * kBlockSize;  // more than a chunk of attention
  Cuda::Batch batch = Cuda::LoadBatch(context, first);
  const auto graph = Cuda::Capture(context, [&] { return Step(batch); });
  ASSERT_TRUE(graph) << graph.error().message;
  const std::vector<StepGeometry> steps = {StepOf({0, 1, 2}, {4, 9, 0}), StepOf({2, 0, 1}, {1100, 3, 1023}),
                                           StepOf({1, 2, 0}, {1024, 1279, 15}), StepOf({0, 1, 2}, {5, 10, 1})};
  for (const StepGeometry& step : steps) {
    Cuda::Reload(context, batch, step);
    const auto replayed = Cuda::Read(context, Cuda::Replay(context, *graph));
    const Cuda::Batch plain = Cuda::LoadBatch(context, step);
    EXPECT_EQ(replayed, Cuda::Read(context, Step(plain)));
  }
}

TEST_F(CudaGraph, SeveralGraphsShareTheirActivations) {
  Cuda::Batch one = Cuda::LoadBatch(context, StepOf({0}, {3})), two = Cuda::LoadBatch(context, StepOf({1, 2}, {8, 2}));
  const auto graph_of_one = *Cuda::Capture(context, [&] { return Step(one); });
  const size_t pieces = context.graph_arena->pieces();
  const auto graph_of_two = *Cuda::Capture(context, [&] { return Step(two); });
  EXPECT_LE(context.graph_arena->pieces(), pieces + 2);
  const auto plain_of_one = Cuda::Read(context, Step(one)), plain_of_two = Cuda::Read(context, Step(two));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Cuda::Read(context, Cuda::Replay(context, graph_of_one)), plain_of_one);
    EXPECT_EQ(Cuda::Read(context, Cuda::Replay(context, graph_of_two)), plain_of_two);
  }
}

TEST_F(CudaGraph, RefusesWhatCannotBeReplayed) {
  const StepGeometry geometry = StepOf({0, 1}, {3, 6});
  const auto refusal = [&](FunctionRef<Cuda::Buffer()> step) {
    const auto graph = Cuda::Capture(context, step);
    return graph ? "(captured)" : graph.error().message;
  };
  const auto expect = [&](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  Cuda::Batch batch = Cuda::LoadBatch(context, geometry);
  expect(refusal([&] {
           auto out = Step(batch);
           Cuda::Read(context, out);
           return out;
         }),
         "captur");  // CUDA and the host executor say it in other words
  expect(refusal([&] { return Step(Cuda::LoadBatch(context, geometry)); }), "loads a batch");
  int32_t runs = 0;
  expect(refusal([&] {
           const std::vector<int32_t> rows{runs++};
           return Cuda::GatherRows(context, Step(batch), rows);
         }),
         "copies other values");
  EXPECT_EQ(context.graph_arena->pieces(), 0u) << "what was refused has kept memory";

  const Cuda::Batch again = Cuda::LoadBatch(context, geometry);  // the context works on
  Cuda::Batch captured = Cuda::LoadBatch(context, geometry);
  const auto graph = Cuda::Capture(context, [&] { return Step(captured); });
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(Cuda::Read(context, Cuda::Replay(context, *graph)), Cuda::Read(context, Step(again)));
  EXPECT_THROW(Cuda::Reload(context, captured, StepOf({0, 1, 2}, {1, 1, 1})), ThrownError);
}

// Products of up to 4 and of up to 64 rows have kernels of their own, with other last bits.
TEST(CudaGraphRows, AStepIsFilledUpWithinItsKernels) {
  for (int32_t rows = 1; rows <= 512; ++rows) {
    const int32_t padded = Cuda::GraphRows(rows);
    EXPECT_GE(padded, rows);
    EXPECT_LE(padded, rows + 31);
    EXPECT_EQ(rows <= 4, padded <= 4) << rows;
    EXPECT_EQ(rows <= 64, padded <= 64) << rows;
    EXPECT_EQ(Cuda::GraphRows(padded), padded) << rows;
    EXPECT_EQ(rows > 4 ? cuda::ColumnsOfAlgorithm(rows) : padded, padded) << "the library's algorithm, " << rows;
  }
  EXPECT_EQ(Cuda::GraphRows(513), 0);
}

}  // namespace
}  // namespace inferflux::compute::testing
