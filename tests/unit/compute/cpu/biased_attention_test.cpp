// Attention with biases by distance, and windows of sequences that are not causal, compared with the reference and with
// means that can be counted.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compute/cpu/cpu_test.h"
#include "compute/paged_sequences.h"

namespace inferflux::compute::testing {
namespace {

class CpuBiasedAttentionTest : public CpuTest {
 protected:
  struct Shape {
    int32_t heads, kv_heads, head_dim, block_size;
    int32_t window = 0;
    bool causal = false;
  };

  template <class B>
  host::Buffer Attend(typename B::Context& context, const Shape& shape, PagedSequences sequences,
                      const std::vector<int32_t>& lengths, host::View biases, std::mt19937 inputs) {
    const KvShape kv{{{1, 8}, {shape.kv_heads, shape.head_dim}}, sequences.blocks(), shape.block_size};
    auto cache = *B::template CreateKvCache<KvFp32>(context, kv);
    const AttentionParams params{.heads = shape.heads,
                                 .kv_heads = shape.kv_heads,
                                 .head_dim = shape.head_dim,
                                 .scale = 0.3f,
                                 .window = shape.window,
                                 .causal = shape.causal};
    const StepGeometry step = sequences.StepTo(lengths);
    const auto q = RandomBuffer(reference.arena, inputs, step.rows(), shape.heads * shape.head_dim);
    const auto k = RandomBuffer(reference.arena, inputs, step.rows(), shape.kv_heads * shape.head_dim);
    const auto v = RandomBuffer(reference.arena, inputs, step.rows(), shape.kv_heads * shape.head_dim);
    B::template Append<KvFp32>(context, cache, 1, k, v, step);
    if (biases.cols == 0) return B::template Attend<KvFp32>(context, q, cache, 1, step, params);
    return B::template AttendWithBiases<KvFp32>(context, q, cache, 1, step, params, biases);
  }

  // `context`: of the model, above the lengths; 0: without biases.
  void EqualsReference(const Shape& shape, const std::vector<int32_t>& lengths, int32_t context) {
    const PagedSequences sequences(lengths, shape.block_size, true, random);
    const auto biases = Random(1, context == 0 ? 0 : shape.heads * (2 * context - 1));
    const auto expected = Attend<Reference>(reference, shape, sequences, lengths, biases, random);
    EXPECT_LT(RelativeError(Attend<Cpu>(cpu, shape, sequences, lengths, biases, random), expected), 2e-6)
        << shape.heads << "/" << shape.kv_heads << " heads of " << shape.head_dim << ", window " << shape.window;
  }
};

TEST_P(CpuBiasedAttentionTest, EqualsTheReference) {
  EqualsReference({.heads = 4, .kv_heads = 4, .head_dim = 8, .block_size = 16}, {1, 5, 40}, 64);
  EqualsReference({.heads = 6, .kv_heads = 2, .head_dim = 5, .block_size = 4}, {21, 33}, 40);
  EqualsReference({.heads = 2, .kv_heads = 1, .head_dim = 24, .block_size = 2, .causal = true}, {9, 30}, 30);
  EqualsReference({.heads = 2, .kv_heads = 2, .head_dim = 8, .block_size = 32, .window = 6}, {40, 3}, 41);
  EqualsReference({.heads = 2, .kv_heads = 2, .head_dim = 8, .block_size = 8, .window = 6, .causal = true}, {40}, 41);
}

TEST_P(CpuBiasedAttentionTest, WindowsReachForwardInSequencesThatAreNotCausal) {
  for (const int32_t window : {1, 2, 17, 40, 300}) {
    EqualsReference({.heads = 4, .kv_heads = 2, .head_dim = 16, .block_size = 16, .window = window}, {1, 60, 290}, 0);
  }
}

// Keys of 0 weigh all that a row sees alike, and a value is its position.
TEST_P(CpuBiasedAttentionTest, ARowSeesItsWindowOnBothSides) {
  constexpr int32_t kRows = 20, kWindow = 4;
  const StepGeometry step = PagedSequences({kRows}, 16, false, random).StepTo({kRows});
  const AttentionParams params{.heads = 1, .kv_heads = 1, .head_dim = 8, .window = kWindow, .causal = false};
  host::Buffer zeros = reference.arena.Allocate(kRows, 8), places = reference.arena.Allocate(kRows, 8);
  for (int32_t p = 0; p < kRows; ++p) {
    std::fill_n(zeros.row(p), 8, 0.0f);
    std::fill_n(places.row(p), 8, static_cast<float>(p));
  }
  // A bias of log(2) for the next position counts it twice.
  std::vector<float> numbers(2 * kRows - 1, 0.0f);
  const host::View biases{numbers.data(), 1, 2 * kRows - 1, 2 * kRows - 1};
  auto ours = *Cpu::CreateKvCache<KvFp32>(cpu, {{{1, 8}}, 2, 16});
  auto theirs = *Reference::CreateKvCache<KvFp32>(reference, {{{1, 8}}, 2, 16});
  Cpu::Append<KvFp32>(cpu, ours, 0, zeros, places, step);
  Reference::Append<KvFp32>(reference, theirs, 0, zeros, places, step);
  const auto plain = Cpu::Attend<KvFp32>(cpu, zeros, ours, 0, step, params);
  const auto other = Reference::Attend<KvFp32>(reference, zeros, theirs, 0, step, params);
  numbers[kRows] = std::log(2.0f);
  const auto biased = Cpu::AttendWithBiases<KvFp32>(cpu, zeros, ours, 0, step, params, biases);
  for (int32_t p = 0; p < kRows; ++p) {
    const int32_t first = std::max(0, p - kWindow + 1), last = std::min(kRows - 1, p + kWindow - 1);
    const float mean = static_cast<float>(first + last) / 2;
    EXPECT_NEAR(host::View(plain).row(p)[0], mean, 1e-5f) << p;
    EXPECT_NEAR(host::View(other).row(p)[7], mean, 1e-5f) << p;
    const auto count = static_cast<float>(last - first + 1);
    const float twice = p + 1 < kRows ? (mean * count + static_cast<float>(p + 1)) / (count + 1) : mean;
    EXPECT_NEAR(host::View(biased).row(p)[0], twice, 1e-5f) << p;
  }
}

TEST_P(CpuBiasedAttentionTest, ACopiedBlockHasItsScalesToo) {
  const AttentionParams params{.heads = 4, .kv_heads = 2, .head_dim = 130, .scale = 0.1f};
  const StepGeometry step = PagedSequences({16}, 16, false, random).StepTo({16});
  const auto q = Random(16, 4 * 130), k = Random(16, 2 * 130), v = Random(16, 2 * 130);
  const auto run = [&]<class E>() {
    const KvShape kv{{{1, 8}, {2, 130}, {3, 24}}, 3, 16};
    auto cache = *Cpu::CreateKvCache<E>(cpu, kv);
    auto theirs = *Reference::CreateKvCache<E>(reference, kv);
    Cpu::Append<E>(cpu, cache, 1, k, v, step);
    Reference::Append<E>(reference, theirs, 1, k, v, step);
    const auto before = Cpu::Attend<E>(cpu, q, cache, 1, step, params);
    EXPECT_LT(RelativeError(before, Reference::Attend<E>(reference, q, theirs, 1, step, params)), 2e-6) << E::kName;
    Cpu::CopyBlock<E>(cpu, cache, 0, 2);
    Reference::CopyBlock<E>(reference, theirs, 0, 1);
    StepGeometry moved = step;
    moved.block_tables = {2};
    EXPECT_TRUE(SameBits(Cpu::Attend<E>(cpu, q, cache, 1, moved, params), before)) << E::kName;
    moved.block_tables = {1};
    EXPECT_LT(RelativeError(Reference::Attend<E>(reference, q, theirs, 1, moved, params), before), 2e-6) << E::kName;
  };
  run.operator()<KvInt8>();
  run.operator()<KvFp8>();
  run.operator()<KvBf16>();
}

INFERFLUX_CPU_TESTS(CpuBiasedAttentionTest);

}  // namespace
}  // namespace inferflux::compute::testing
