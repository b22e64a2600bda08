// Attention over latents, and the selection of positions, beside the reference: several spans, sequences and KV types.
#include <numeric>

#include "compute/cpu/cpu_test.h"

namespace inferflux::compute::testing {
namespace {

constexpr int32_t kHeads = 3, kLatent = 20, kRotated = 6, kBlock = 16;
constexpr int32_t kIndexHeads = 9, kIndex = 14, kTop = 40;
constexpr AttentionParams kParams{.heads = kHeads, .kv_heads = 1, .head_dim = kLatent + kRotated, .scale = 0.2f};

// Rows of several sequences that were computed from position 0 on.
StepGeometry WholeSequences(const std::vector<int32_t>& lengths) {
  StepGeometry out{.query_starts = {0}, .table_starts = {0}, .block_size = kBlock};
  for (const int32_t length : lengths) {
    for (int32_t p = 0; p < length; ++p) {
      out.tokens.push_back(0);
      out.positions.push_back(p);
    }
    out.query_starts.push_back(out.rows());
    const int32_t blocks = (length + kBlock - 1) / kBlock;
    for (int32_t b = 0; b < blocks; ++b) out.block_tables.push_back(static_cast<int32_t>(out.block_tables.size()));
    out.table_starts.push_back(static_cast<int32_t>(out.block_tables.size()));
  }
  return out;
}

// The last row of the first sequence alone.
StepGeometry LastRow(const StepGeometry& all) {
  StepGeometry out = all;
  out.positions = {all.positions[static_cast<size_t>(all.query_starts[1] - 1)]};
  out.tokens = {0};
  out.query_starts = {0, 1};
  out.table_starts = {0, all.table_starts[1]};
  return out;
}

struct Inputs {
  host::Buffer latents, rotated_keys, index_keys, q, rotated_q, index_q, weights;
};

class CpuLatentsTest : public CpuTest {
 protected:
  static KvShape Shape(const StepGeometry& step) {
    return {.layers = {{.heads = 1, .head_dim = kLatent + kRotated, .latent = kLatent, .index = kIndex}},
            .blocks = static_cast<int32_t>(step.block_tables.size()),
            .block_size = kBlock};
  }

  Inputs MakeInputs(int32_t rows) {
    return {Random(rows, kLatent),          Random(rows, kRotated),          Random(rows, kIndex),
            Random(rows, kHeads * kLatent), Random(rows, kHeads * kRotated), Random(rows, kIndexHeads * kIndex),
            Random(rows, kIndexHeads)};
  }

  template <class B, class E>
  typename B::template KvCache<E> Fill(typename B::Context& context, const StepGeometry& step, const Inputs& x) {
    auto cache = B::template CreateKvCache<E>(context, Shape(step));
    B::template AppendLatents<E>(context, *cache, 0, x.latents, x.rotated_keys, step);
    B::template AppendIndex<E>(context, *cache, 0, x.index_keys, step);
    return std::move(*cache);
  }

  template <class E>
  void Check() {
    SCOPED_TRACE(E::kName);
    const StepGeometry step = WholeSequences({600, 1, 40});
    const Inputs x = MakeInputs(step.rows());
    const auto expected_cache = Fill<Reference, E>(reference, step, x);
    const auto cache = Fill<Cpu, E>(cpu, step, x);
    const auto whole = Cpu::AttendLatents<E>(cpu, x.q, x.rotated_q, cache, 0, step, kParams, nullptr);
    const auto expected =
        Reference::AttendLatents<E>(reference, x.q, x.rotated_q, expected_cache, 0, step, kParams, nullptr);
    EXPECT_LT(RelativeError(whole, expected), 1e-5);

    const IndexParams index{kIndexHeads, kIndex, kTop};
    const auto selected = Cpu::SelectPositions<E>(cpu, x.index_q, x.weights, cache, 0, step, index);
    const auto wanted = Reference::SelectPositions<E>(reference, x.index_q, x.weights, expected_cache, 0, step, index);
    int32_t same = 0;
    for (size_t r = 0; r < wanted.rows.size(); ++r) {
      EXPECT_EQ(selected.rows[r].size(), static_cast<size_t>(std::min(kTop, step.positions[r] + 1)));
      same += selected.rows[r] == wanted.rows[r] ? 1 : 0;
    }
    EXPECT_GE(same, step.rows() - 2);  // sums of floats differ from those of doubles
    const auto sparse = Cpu::AttendLatents<E>(cpu, x.q, x.rotated_q, cache, 0, step, kParams, &wanted);
    EXPECT_LT(RelativeError(sparse, Reference::AttendLatents<E>(reference, x.q, x.rotated_q, expected_cache, 0, step,
                                                                kParams, &wanted)),
              1e-5);
    EXPECT_GT(RelativeError(sparse, whole), 0.1);

    // Alone, a row has the same bits.
    const StepGeometry last = LastRow(step);
    const auto at = [](host::View of) { return Rows(of, 599, 1); };
    EXPECT_TRUE(
        SameBits(Cpu::AttendLatents<E>(cpu, at(x.q), at(x.rotated_q), cache, 0, last, kParams, nullptr), at(whole)));
    const auto again = Cpu::SelectPositions<E>(cpu, at(x.index_q), at(x.weights), cache, 0, last, index);
    EXPECT_EQ(again.rows[0], selected.rows[599]);
  }
};

TEST_P(CpuLatentsTest, EqualTheReferenceInEveryKvType) {
  ForEachKvType([&]<class E>(E) { Check<E>(); });
}

TEST_P(CpuLatentsTest, ATokenTakesItsLatentOnce) {
  const KvGeometry layer{.heads = 1, .head_dim = 576, .latent = 512, .index = 128};
  EXPECT_EQ(KvTokenBytes<KvFp16>(std::vector{layer}), 2 * (576 + 128));
  EXPECT_EQ(KvTokenBytes<KvFp16>(std::vector{KvGeometry{.heads = 1, .head_dim = 576, .latent = 512}}), 2 * 576);
  EXPECT_FALSE(Cpu::CreateKvCache<KvFp16>(
      cpu, {.layers = {{.heads = 2, .head_dim = 8, .latent = 4}}, .blocks = 1, .block_size = 16}));
}

TEST_P(CpuLatentsTest, TiesGoToTheLowerPositionAndNanLast) {
  const float nan = std::nanf("");
  const std::vector<float> scores{1.0f, nan, 0.0f, 2.0f, 0.0f, 0.0f};
  EXPECT_EQ(host::BestPositions(scores, 3), (std::vector<int32_t>{0, 2, 3}));
  EXPECT_EQ(host::BestPositions(scores, 5), (std::vector<int32_t>{0, 2, 3, 4, 5}));
  EXPECT_EQ(host::BestPositions(scores, 9).size(), 6u);
}

TEST_P(CpuLatentsTest, EachHeadHasItsOwnMatrix) {
  constexpr int32_t kInputs = 10, kOutputs = 7;
  std::vector<host::Buffer> values;
  std::vector<std::vector<HostMatrix>> parts;
  for (int32_t h = 0; h < kHeads; ++h) {
    values.push_back(Random(kOutputs, kInputs));
    const auto* data = reinterpret_cast<const std::byte*>(values.back().row(0));
    parts.push_back({{.name = "head",
                      .type = formats::TensorType::kF32,
                      .rows = kOutputs,
                      .cols = kInputs,
                      .data = {data, kOutputs * kInputs * sizeof(float)},
                      .owner = nullptr}});
  }
  const auto ours = Cpu::LoadExperts(cpu, parts);
  const auto theirs = Reference::LoadExperts(reference, parts);
  ASSERT_TRUE(ours && theirs);
  const auto x = Random(5, kHeads * kInputs);
  EXPECT_LT(RelativeError(Cpu::HeadMatMul(cpu, x, *ours), Reference::HeadMatMul(reference, x, *theirs)), 1e-5);
}

INFERFLUX_CPU_TESTS(CpuLatentsTest);

}  // namespace
}  // namespace inferflux::compute::testing
