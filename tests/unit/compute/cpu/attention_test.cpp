#include "compute/cpu/cpu_test.h"

namespace inferflux::compute::testing {
namespace {

struct AttentionShape {
  int32_t heads, kv_heads, head_dim, block_size;
  int32_t window = 0;
  float softcap = 0.0f;
  bool sinks = false;
  bool causal = true;
  bool chunked = false;
};

// Several sequences with known keys and values for every position, so that any cut into steps can run.
struct Sequences {
  std::vector<int32_t> lengths;
  std::vector<host::Buffer> q, k, v;  // [length, ...]
  std::vector<std::vector<int32_t>> blocks;
  int32_t block_count = 0;
};

// A step over [first[s], last[s]) of each sequence; skips empty ranges.
struct Step {
  StepGeometry geometry;
  std::vector<std::pair<int32_t, int32_t>> rows;  // (sequence, position)
};

Step MakeStep(const Sequences& all, int32_t block_size, const std::vector<std::pair<int32_t, int32_t>>& ranges) {
  Step out;
  out.geometry.block_size = block_size;
  out.geometry.query_starts.push_back(0);
  for (size_t s = 0; s < ranges.size(); ++s) {
    if (ranges[s].first == ranges[s].second) continue;
    for (int32_t p = ranges[s].first; p < ranges[s].second; ++p) {
      out.geometry.positions.push_back(p);
      out.geometry.tokens.push_back(0);
      out.rows.emplace_back(static_cast<int32_t>(s), p);
    }
    out.geometry.query_starts.push_back(out.geometry.rows());
    out.geometry.table_starts.push_back(static_cast<int32_t>(out.geometry.block_tables.size()));
    const auto& table = all.blocks[s];
    out.geometry.block_tables.insert(out.geometry.block_tables.end(), table.begin(), table.end());
  }
  out.geometry.table_starts.push_back(static_cast<int32_t>(out.geometry.block_tables.size()));
  return out;
}

class CpuAttentionTest : public CpuTest {
 protected:
  Sequences MakeSequences(const AttentionShape& shape, std::vector<int32_t> lengths) {
    Sequences out{.lengths = std::move(lengths)};
    for (const int32_t length : out.lengths) {
      out.q.push_back(Random(length, shape.heads * shape.head_dim));
      out.k.push_back(Random(length, shape.kv_heads * shape.head_dim));
      out.v.push_back(Random(length, shape.kv_heads * shape.head_dim));
      out.blocks.emplace_back();
      for (int32_t p = 0; p < length; p += shape.block_size) out.blocks.back().push_back(out.block_count++);
    }
    std::vector<int32_t> order(static_cast<size_t>(out.block_count));  // blocks in any order
    for (int32_t i = 0; i < out.block_count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (auto& table : out.blocks) {
      for (int32_t& block : table) block = order[block];
    }
    return out;
  }

  host::Buffer Rows(const Step& step, const std::vector<host::Buffer>& of) {
    const int64_t cols = of.front().cols();
    host::Buffer out = reference.arena.Allocate(step.geometry.rows(), cols);
    for (size_t r = 0; r < step.rows.size(); ++r) {
      const auto [s, p] = step.rows[r];
      std::copy_n(host::View(of[s]).row(p), cols, out.row(static_cast<int64_t>(r)));
    }
    return out;
  }

  static AttentionParams Params(const AttentionShape& shape) {
    return {shape.heads,  shape.kv_heads, shape.head_dim, 1.0f / std::sqrt(static_cast<float>(shape.head_dim)),
            shape.window, shape.softcap,  shape.causal,   shape.chunked};
  }

  // Appends and attends; `poison` fills the store with NaN first, as unwritten memory may contain.
  template <class B, class E>
  host::Buffer Run(typename B::Context& context, typename B::template KvCache<E>& cache, const Sequences& all,
                   const AttentionShape& shape, const Step& step, host::View sinks) {
    const int32_t layer = 1;
    B::template Append<E>(context, cache, layer, Rows(step, all.k), Rows(step, all.v), step.geometry);
    return B::template AttendWithSinks<E>(context, Rows(step, all.q), cache, layer, step.geometry, Params(shape),
                                          sinks);
  }

  template <class E>
  void EqualsReference(const AttentionShape& shape, const std::vector<int32_t>& lengths, KvGeometry other_layers = {}) {
    const Sequences all = MakeSequences(shape, lengths);
    const host::Buffer sinks = Random(1, shape.sinks ? shape.heads : 0);
    const KvShape kv{{other_layers, {shape.kv_heads, shape.head_dim}, other_layers}, all.block_count, shape.block_size};
    auto expected_cache = *Reference::CreateKvCache<E>(reference, kv);
    auto actual_cache = *Cpu::CreateKvCache<E>(cpu, kv);
    std::vector<std::pair<int32_t, int32_t>> ranges;
    for (const int32_t length : lengths) ranges.emplace_back(0, length);
    const Step step = MakeStep(all, shape.block_size, ranges);
    const auto expected = Run<Reference, E>(reference, expected_cache, all, shape, step, sinks);
    const auto actual = Run<Cpu, E>(cpu, actual_cache, all, shape, step, sinks);
    EXPECT_LT(RelativeError(actual, expected), 2e-6)
        << shape.heads << "/" << shape.kv_heads << " heads of " << shape.head_dim;
  }

  // Whole sequences at once, compared with random cuts into steps, on one thread and on three: bit-identical.
  template <class E>
  void IsInvariant(const AttentionShape& shape, const std::vector<int32_t>& lengths) {
    const Sequences all = MakeSequences(shape, lengths);
    const host::Buffer sinks = Random(1, shape.sinks ? shape.heads : 0);
    const KvShape kv{std::vector<KvGeometry>(2, {shape.kv_heads, shape.head_dim}), all.block_count, shape.block_size};
    std::vector<std::pair<int32_t, int32_t>> ranges;
    for (const int32_t length : lengths) ranges.emplace_back(0, length);
    auto cache = *Cpu::CreateKvCache<E>(cpu, kv);
    const Step whole = MakeStep(all, shape.block_size, ranges);
    const auto expected = Run<Cpu, E>(cpu, cache, all, shape, whole, sinks);

    for (const int threads : {1, 3}) {
      ThreadPool other_pool(threads);
      Cpu::Context context(other_pool, GetParam());
      auto fresh = *Cpu::CreateKvCache<E>(context, kv);
      std::fill_n(reinterpret_cast<uint8_t*>(fresh.pages.data()), fresh.pages.size(), uint8_t{0xff});  // NaN everywhere
      std::vector<int32_t> done(lengths.size(), 0);
      for (bool more = true; more;) {
        more = false;
        for (size_t s = 0; s < lengths.size(); ++s) {
          const int32_t choices[] = {0, 1, 1, 7, 64, 100};
          const int32_t count = std::min(choices[random() % 6], lengths[s] - done[s]);
          ranges[s] = {done[s], done[s] + count};
          done[s] += count;
          more = more || done[s] < lengths[s];
        }
        const Step step = MakeStep(all, shape.block_size, ranges);
        if (step.rows.empty()) continue;
        const auto actual = Run<Cpu, E>(context, fresh, all, shape, step, sinks);
        for (size_t r = 0; r < step.rows.size(); ++r) {
          int64_t at = step.rows[r].second;
          for (int32_t s = 0; s < step.rows[r].first; ++s) at += lengths[s];
          ASSERT_TRUE(SameBits(testing::Rows(actual, static_cast<int64_t>(r), 1), testing::Rows(expected, at, 1)))
              << "sequence " << step.rows[r].first << " position " << step.rows[r].second << ", " << threads
              << " threads";
        }
      }
    }
  }
};

TEST_P(CpuAttentionTest, EqualsReferenceForEveryKvType) {
  const AttentionShape shape{.heads = 4, .kv_heads = 2, .head_dim = 64, .block_size = 16};
  EqualsReference<KvFp32>(shape, {1, 40, 300});
  EqualsReference<KvFp16>(shape, {1, 40, 300});
  EqualsReference<KvBf16>(shape, {1, 40, 300});
  EqualsReference<KvInt8>(shape, {1, 40, 300});
  EqualsReference<KvFp8>(shape, {1, 40, 300});
  EqualsReference<KvInt8>({.heads = 3, .kv_heads = 1, .head_dim = 20, .block_size = 8}, {30});
}

TEST_P(CpuAttentionTest, EqualsReferenceForManyShapes) {
  for (const AttentionShape& shape :
       {AttentionShape{1, 1, 16, 4}, AttentionShape{8, 8, 32, 32}, AttentionShape{14, 2, 64, 16},
        AttentionShape{6, 1, 80, 256}, AttentionShape{4, 4, 40, 8}, AttentionShape{16, 2, 128, 64},
        AttentionShape{2, 1, 64, 512}}) {
    EqualsReference<KvFp32>(shape, {5, 270});
  }
}

TEST_P(CpuAttentionTest, WindowsSoftcapsAndSinks) {
  EqualsReference<KvFp32>({.heads = 4, .kv_heads = 2, .head_dim = 32, .block_size = 16, .window = 1}, {30});
  EqualsReference<KvFp32>({.heads = 4, .kv_heads = 2, .head_dim = 32, .block_size = 16, .window = 20}, {300, 3});
  EqualsReference<KvFp32>({.heads = 4, .kv_heads = 2, .head_dim = 32, .block_size = 16, .window = 257}, {600});
  EqualsReference<KvFp32>({.heads = 4, .kv_heads = 1, .head_dim = 32, .block_size = 16, .softcap = 1.5f}, {100});
  EqualsReference<KvFp32>({.heads = 4, .kv_heads = 2, .head_dim = 32, .block_size = 16, .sinks = true}, {40, 300});
}

TEST_P(CpuAttentionTest, ChunksOfTheText) {
  for (const int32_t chunk : {1, 7, 64, 300}) {
    EqualsReference<KvFp32>(
        {.heads = 4, .kv_heads = 2, .head_dim = 32, .block_size = 16, .window = chunk, .chunked = true}, {301, 3, 64});
  }
}

// Keys of 0 weigh all that a row sees alike, and a value is its position: the mean of the chunk up to the row.
TEST_P(CpuAttentionTest, ARowSeesItsChunkFromTheBeginning) {
  constexpr int32_t kRows = 23, kChunk = 5;
  const AttentionShape shape{
      .heads = 1, .kv_heads = 1, .head_dim = 8, .block_size = 4, .window = kChunk, .chunked = true};
  Sequences all = MakeSequences(shape, {kRows});
  for (int64_t p = 0; p < kRows; ++p) {
    std::fill_n(all.k[0].row(p), 8, 0.0f);
    std::fill_n(all.v[0].row(p), 8, static_cast<float>(p));
  }
  const KvShape kv{std::vector<KvGeometry>(2, {1, 8}), all.block_count, shape.block_size};
  const Step step = MakeStep(all, shape.block_size, {{0, kRows}});
  auto cache = *Cpu::CreateKvCache<KvFp32>(cpu, kv);
  const auto out = Run<Cpu, KvFp32>(cpu, cache, all, shape, step, {});
  auto theirs = *Reference::CreateKvCache<KvFp32>(reference, kv);
  const auto expected = Run<Reference, KvFp32>(reference, theirs, all, shape, step, {});
  for (int32_t p = 0; p < kRows; ++p) {
    const float mean = static_cast<float>(p / kChunk * kChunk + p) / 2;
    EXPECT_NEAR(host::View(out).row(p)[0], mean, 1e-5f) << p;
    EXPECT_NEAR(host::View(expected).row(p)[0], mean, 1e-5f) << p;
  }
}

TEST_P(CpuAttentionTest, WholeSequencesThatAreNotCausal) {
  EqualsReference<KvFp32>({.heads = 4, .kv_heads = 2, .head_dim = 32, .block_size = 32, .causal = false}, {1, 40, 300});
  EqualsReference<KvFp32>({.heads = 12, .kv_heads = 12, .head_dim = 32, .block_size = 16, .causal = false}, {530});
}

TEST_P(CpuAttentionTest, ASequenceThatIsNotCausalDoesNotDependOnItsNeighbours) {
  const AttentionShape shape{.heads = 4, .kv_heads = 4, .head_dim = 32, .block_size = 32, .causal = false};
  const Sequences all = MakeSequences(shape, {7, 300, 33, 1});
  const KvShape kv{std::vector<KvGeometry>(2, {shape.kv_heads, shape.head_dim}), all.block_count, shape.block_size};
  auto cache = *Cpu::CreateKvCache<KvFp32>(cpu, kv);
  const Step batch = MakeStep(all, shape.block_size, {{0, 7}, {0, 300}, {0, 33}, {0, 1}});
  const auto together = Run<Cpu, KvFp32>(cpu, cache, all, shape, batch, {});
  int64_t first = 0;
  for (size_t s = 0; s < all.lengths.size(); first += all.lengths[s++]) {
    std::vector<std::pair<int32_t, int32_t>> alone(all.lengths.size(), {0, 0});
    alone[s].second = all.lengths[s];
    Step step = MakeStep(all, shape.block_size, alone);
    step.geometry.block_tables = all.blocks[s];
    const auto result = Run<Cpu, KvFp32>(cpu, cache, all, shape, step, {});
    EXPECT_TRUE(SameBits(testing::Rows(result, 0, all.lengths[s]), testing::Rows(together, first, all.lengths[s])))
        << "sequence " << s;
  }
}

TEST_P(CpuAttentionTest, APositionDoesNotDependOnHowItsPromptWasCut) {
  IsInvariant<KvFp32>({.heads = 4, .kv_heads = 2, .head_dim = 64, .block_size = 16}, {1, 77, 600});
  IsInvariant<KvFp16>({.heads = 6, .kv_heads = 2, .head_dim = 32, .block_size = 32}, {300, 300, 300});
  IsInvariant<KvBf16>({.heads = 14, .kv_heads = 2, .head_dim = 64, .block_size = 16}, {280, 20});
  IsInvariant<KvInt8>({.heads = 14, .kv_heads = 2, .head_dim = 64, .block_size = 32}, {280, 20});
  IsInvariant<KvFp8>({.heads = 4, .kv_heads = 2, .head_dim = 40, .block_size = 8}, {280, 20});
  IsInvariant<KvFp16>({.heads = 4, .kv_heads = 1, .head_dim = 48, .block_size = 16, .window = 40}, {500});
  IsInvariant<KvFp16>({.heads = 4, .kv_heads = 1, .head_dim = 48, .block_size = 16, .window = 40, .chunked = true},
                      {500});
  IsInvariant<KvFp32>({.heads = 2, .kv_heads = 2, .head_dim = 24, .block_size = 64, .softcap = 2.0f, .sinks = true},
                      {530});
}

TEST_P(CpuAttentionTest, OtherLayersMayHaveOtherHeads) {
  const AttentionShape shape{.heads = 4, .kv_heads = 2, .head_dim = 24, .block_size = 16};
  EqualsReference<KvFp16>(shape, {30, 5}, {.heads = 3, .head_dim = 40});
  EqualsReference<KvInt8>(shape, {30, 5}, {.heads = 1, .head_dim = 8});
}

TEST_P(CpuAttentionTest, CopiesABlockInEveryLayer) {
  const KvShape kv{{{1, 40}, {2, 24}, {}, {3, 8}}, 3, 16};  // one layer keeps no KV
  auto cache = *Cpu::CreateKvCache<KvFp16>(cpu, kv);
  const AttentionShape shape{.heads = 2, .kv_heads = 2, .head_dim = 24, .block_size = 16};
  Sequences all = MakeSequences(shape, {16});
  all.blocks[0] = {0};
  Step step = MakeStep(all, 16, {{0, 16}});
  const auto before = Run<Cpu, KvFp16>(cpu, cache, all, shape, step, {});
  Cpu::CopyBlock<KvFp16>(cpu, cache, 0, 2);
  step.geometry.block_tables = {2};
  const auto after = Cpu::Attend<KvFp16>(cpu, Rows(step, all.q), cache, 1, step.geometry, Params(shape));
  EXPECT_TRUE(SameBits(after, before));
}

TEST_P(CpuAttentionTest, RefusesShapesItCannotHold) {
  EXPECT_EQ(Cpu::CreateKvCache<KvFp16>(cpu, {{{1, 64}}, 4, 48}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Cpu::CreateKvCache<KvFp16>(cpu, {{{1, 64}}, 0, 16}).error().code, ErrorCode::kInvalidArgument);
  constexpr int32_t kHuge = 1 << 30;
  EXPECT_EQ(Cpu::CreateKvCache<KvFp16>(cpu, {{{kHuge, 64}}, kHuge, 256}).error().code, ErrorCode::kResourceExhausted);
  // 2^62 bytes with all possible padding are asked for; more would overflow.
  EXPECT_TRUE(Cpu::CreateKvCache<KvFp16>(cpu, {{{4, 1024}}, kHuge, 1024}).error().message.starts_with("no memory for"));
  EXPECT_EQ(Cpu::CreateKvCache<KvFp16>(cpu, {{{5, 1024}}, kHuge, 1024}).error().message,
            "a KV cache of 1073741824 blocks of 1024 positions overflows; ask for fewer");
}

INFERFLUX_CPU_TESTS(CpuAttentionTest);

}  // namespace
}  // namespace inferflux::compute::testing
