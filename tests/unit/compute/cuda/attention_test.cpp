// Paged attention on the host executor, every access checked, against the softmax as it is written.
#include "compute/cuda/kernels/attention/attention.h"

#include <algorithm>
#include <numeric>

#include "compute/cuda/elements.h"
#include "compute/cuda/test_device.h"

namespace inferflux::cuda {
namespace {

using compute::AttentionParams;
using compute::StepGeometry;
using testing::Must;
using testing::RandomElements;
using testing::TestDevice;

constexpr int32_t kBlockSize = 16;

// A sequence's tokens so far, of which the step computes the last `rows`.
struct Sequence {
  int32_t length, rows;
};

template <class T>
class AttentionCase {
 public:
  AttentionCase(const std::vector<Sequence>& sequences, const AttentionParams& params, uint64_t seed)
      : sequences_(sequences), params_(params), random_(static_cast<unsigned>(seed)), device_({.seed = seed}) {
    for (const Sequence& sequence : sequences_) {
      keys_.push_back(RandomElements<T>(random_, sequence.length * Width()));
      values_.push_back(RandomElements<T>(random_, sequence.length * Width()));
      queries_.push_back(RandomElements<T>(random_, sequence.length * QueryWidth()));
    }
    FillCache();
  }

  // The outputs of the last rows of one sequence, or of all.
  // `split`: each chunk of KV is a block's. `wide`: by the kernel for tiles with many rows, however few there are.
  std::vector<float> Attend(int only = -1, int32_t rows = 0, bool split = false, bool wide = false) {
    StepGeometry step{.query_starts = {0}, .table_starts = {0}, .block_size = kBlockSize};
    std::vector<float> q;
    std::vector<int32_t> sequence_of;
    for (size_t s = 0; s < sequences_.size(); ++s) {
      if (only >= 0 && s != static_cast<size_t>(only)) continue;
      const int32_t count = rows > 0 ? rows : sequences_[s].rows;
      for (int32_t p = sequences_[s].length - count; p < sequences_[s].length; ++p) {
        step.positions.push_back(p);
        step.tokens.push_back(0);
        sequence_of.push_back(step.sequences());
        std::transform(queries_[s].begin() + p * QueryWidth(), queries_[s].begin() + (p + 1) * QueryWidth(),
                       std::back_inserter(q), [](T value) { return ToFloat(value); });
      }
      step.query_starts.push_back(static_cast<int32_t>(step.positions.size()));
      step.block_tables.insert(step.block_tables.end(), tables_[s].begin(), tables_[s].end());
      step.table_starts.push_back(static_cast<int32_t>(step.block_tables.size()));
    }
    const auto tiles = AttentionTiles(step, params_.heads / params_.kv_heads);
    float* y = device_.template New<float>(q.size());
    const int32_t chunks = split ? *std::ranges::max_element(step.positions) / kAttentionChunk + 1 : 0;
    const size_t partial = step.positions.size() * params_.heads * chunks * (params_.head_dim + 2);
    const int32_t block_shift = split ? 4 : -1;  // a shift finds the slots that a division finds
    const AttentionArguments<T> arguments{
        .q = {device_.Upload(q), step.rows(), QueryWidth(), QueryWidth()},
        .keys = key_cache_,
        .values = value_cache_,
        .step = {device_.Upload(step.positions), device_.Upload(step.query_starts), device_.Upload(step.table_starts),
                 device_.Upload(step.block_tables), kBlockSize, block_shift, device_.Upload(sequence_of)},
        .tiles = device_.Upload(tiles),
        .tile_count = static_cast<int32_t>(tiles.size()),
        .most_queries = wide ? 64 : std::ranges::max(tiles, {}, &AttentionTile::queries).queries,
        .params = params_,
        .y = y,
        .chunks = chunks,
        .partial = split ? device_.template New<float>(partial) : nullptr};
    Must(cuda::Attend(arguments, device_.stream()));
    return device_.Download(y, q.size());
  }

  void ExpectRight(bool split = false) {
    const std::vector<float> y = Attend(-1, 0, split);
    ASSERT_FALSE(device_.runtime().fault());
    int64_t at = 0;
    for (size_t s = 0; s < sequences_.size(); ++s) {
      for (int32_t p = sequences_[s].length - sequences_[s].rows; p < sequences_[s].length; ++p) {
        for (int32_t head = 0; head < params_.heads; ++head) {
          for (const double expected : Softmax(s, p, head)) {
            ASSERT_NEAR(y[at], expected, testing::kStep<T> * std::max(1.0, std::abs(expected)))
                << "sequence " << s << ", position " << p << ", head " << head << ": " << y[at] << ", not " << expected;
            ++at;
          }
        }
      }
    }
  }

  int64_t QueryWidth() const { return int64_t{params_.heads} * params_.head_dim; }

 private:
  static std::vector<float> Floats(const std::vector<T>& values) {
    std::vector<float> out;
    for (const T value : values) out.push_back(ToFloat(value));
    return out;
  }

  int64_t Width() const { return int64_t{params_.kv_heads} * params_.head_dim; }

  // Appends every sequence's keys and values into blocks in random order.
  void FillCache() {
    int32_t blocks = 3;  // that nobody writes
    for (const Sequence& sequence : sequences_) blocks += (sequence.length + kBlockSize - 1) / kBlockSize;
    std::vector<int32_t> free(blocks);
    std::iota(free.begin(), free.end(), 0);
    std::shuffle(free.begin(), free.end(), random_);
    key_cache_ = device_.template New<T>(blocks * kBlockSize * Width());
    value_cache_ = device_.template New<T>(blocks * kBlockSize * Width());
    for (size_t s = 0; s < sequences_.size(); ++s) {
      const int32_t length = sequences_[s].length;
      auto& table = tables_.emplace_back();
      std::vector<int32_t> slots;
      for (int32_t p = 0; p < length; ++p) {
        if (p % kBlockSize == 0) {
          table.push_back(free.back());
          free.pop_back();
        }
        slots.push_back(table.back() * kBlockSize + p % kBlockSize);
      }
      Must(AppendKv<T>({device_.Upload(Floats(keys_[s])), length, Width(), Width()},
                       {device_.Upload(Floats(values_[s])), length, Width(), Width()}, params_.kv_heads,
                       device_.Upload(slots), {key_cache_, value_cache_}, device_.stream()));
    }
  }

  std::vector<double> Softmax(size_t s, int32_t position, int32_t head) const {
    const int32_t kv_head = head / (params_.heads / params_.kv_heads);
    const int32_t dim = params_.head_dim;
    int32_t last = params_.causal ? position : sequences_[s].length - 1;
    if (params_.window > 0) last = std::min(last, position + params_.window - 1);
    int32_t first = params_.window > 0 ? std::max(0, position - params_.window + 1) : 0;
    if (params_.chunked) first = position - position % params_.window;
    std::vector<double> weights, out(dim);
    for (int32_t key = first; key <= last; ++key) {
      double score = 0.0;
      for (int32_t d = 0; d < dim; ++d) {
        score += double{ToFloat(queries_[s][position * QueryWidth() + head * dim + d])} *
                 ToFloat(keys_[s][key * Width() + kv_head * dim + d]);
      }
      score *= params_.scale;
      if (params_.softcap > 0.0f) score = params_.softcap * std::tanh(score / params_.softcap);
      weights.push_back(score);
    }
    const double highest = *std::max_element(weights.begin(), weights.end());
    double total = 0.0;
    for (double& weight : weights) total += weight = std::exp(weight - highest);
    for (int32_t d = 0; d < dim; ++d) {
      for (int32_t key = first; key <= last; ++key) {
        out[d] += weights[key - first] / total * ToFloat(values_[s][key * Width() + kv_head * dim + d]);
      }
    }
    return out;
  }

  std::vector<Sequence> sequences_;
  AttentionParams params_;
  std::mt19937 random_;
  TestDevice device_;
  std::vector<std::vector<T>> keys_, values_, queries_;
  std::vector<std::vector<int32_t>> tables_;
  T* key_cache_ = nullptr;
  T* value_cache_ = nullptr;
};

const std::vector<Sequence> kMixed = {{70, 70}, {131, 1}, {76, 16}, {1, 1}};  // prefill, decode, a chunk, a first token

TEST(Attention, TilesWithFewRowsHaveTheBitsOfTheOthers) {
  const std::vector<Sequence> few = {{1, 1}, {64, 1}, {65, 2}, {600, 1}, {1030, 2}};
  for (const int32_t head_dim : {32, 64, 128}) {
    for (const int32_t heads : {2, 8, 16}) {
      AttentionParams params{.heads = heads, .kv_heads = 2, .head_dim = head_dim, .scale = 0.1f};
      if (heads == 8) params.window = 70;
      if (heads == 16) params.softcap = 3.0f;
      AttentionCase<Fp16> attention(few, params, static_cast<uint64_t>(head_dim + heads));
      for (const bool split : {false, true}) {
        EXPECT_EQ(attention.Attend(-1, 0, split), attention.Attend(-1, 0, split, true)) << head_dim << ", " << heads;
      }
      attention.ExpectRight();
    }
  }
}

TEST(Attention, OfMixedStepsIsTheSoftmax) {
  AttentionCase<Bf16>(kMixed, {.heads = 4, .kv_heads = 2, .head_dim = 32, .scale = 0.17f}, 1).ExpectRight();
  AttentionCase<Fp16>(kMixed, {.heads = 3, .kv_heads = 1, .head_dim = 64, .scale = 0.125f}, 2).ExpectRight();
  AttentionCase<Fp16>({{20, 20}, {65, 1}}, {.heads = 8, .kv_heads = 1, .head_dim = 128, .scale = 0.088f}, 3)
      .ExpectRight();
}

TEST(Attention, TakesWindowsSoftCapsAndBothDirections) {
  const AttentionParams plain{.heads = 2, .kv_heads = 2, .head_dim = 32, .scale = 0.5f};
  for (const int32_t window : {1, 5, 64, 100}) {
    AttentionParams params = plain;
    params.window = window;
    AttentionCase<Fp16>(kMixed, params, 4).ExpectRight();
    params.chunked = true;
    AttentionCase<Fp16>(kMixed, params, 4).ExpectRight();
  }
  AttentionParams capped = plain;
  capped.softcap = 2.0f;
  AttentionCase<Fp16>(kMixed, capped, 5).ExpectRight();
  AttentionParams both = plain;
  both.causal = false;
  AttentionCase<Fp16>({{70, 70}, {3, 3}}, both, 6).ExpectRight();
  both.window = 9;
  AttentionCase<Fp16>({{70, 70}, {3, 3}}, both, 7).ExpectRight();
}

// A row alone, in a chunk and among other sequences: the same bits.
TEST(Attention, OfARowDoesNotDependOnTheStep) {
  for (const int32_t window : {0, 70}) {
    AttentionCase<Bf16> attention({{140, 40}, {33, 33}},
                                  {.heads = 4, .kv_heads = 2, .head_dim = 32, .scale = 0.2f, .window = window}, 7);
    const auto together = attention.Attend();
    const int64_t width = attention.QueryWidth();
    for (const int32_t rows : {1, 7, 33}) {
      const auto chunk = attention.Attend(0, rows);
      for (int64_t i = 0; i < rows * width; ++i) {
        ASSERT_EQ(chunk[i], together[(40 - rows) * width + i]) << rows << " rows, window " << window << ", " << i;
      }
    }
  }
}

// Chunks of long sequences: one block walks them, or each has its own; other steps; the same bits.
TEST(Attention, SplitsLongSequencesWithoutChangingABit) {
  constexpr int32_t kLong = 2 * kAttentionChunk + 70;
  for (const int32_t window : {0, kAttentionChunk + 100}) {
    AttentionCase<Fp16> attention({{kLong, 34}, {kAttentionChunk, 1}, {kAttentionChunk + 1, 2}, {5, 1}},
                                  {.heads = 2, .kv_heads = 1, .head_dim = 32, .scale = 0.2f, .window = window}, 8);
    attention.ExpectRight();
    attention.ExpectRight(true);
    const auto walked = attention.Attend(), split = attention.Attend(-1, 0, true);
    EXPECT_EQ(walked, split);
    const int64_t width = attention.QueryWidth();
    for (const bool alone_split : {false, true}) {
      const auto last = attention.Attend(0, 1, alone_split);
      for (int64_t i = 0; i < width; ++i) ASSERT_EQ(last[i], walked[33 * width + i]) << "window " << window;
    }
  }
}

TEST(Attention, RefusesHeadsThatNoKernelServes) {
  TestDevice device;
  const AttentionArguments<Fp16> arguments{.params = {.heads = 2, .kv_heads = 2, .head_dim = 48}};
  const Status refused = Attend(arguments, device.stream());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("48"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::cuda
