#include "compute/cuda/kernels/sample.h"

#include <cfloat>
#include <cmath>

#include "compute/cuda/device/atomic.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/rank.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

using Share = unsigned long long;  // a probability times 2^44 and the sum of all weights

constexpr int kSampleThreads = 1024;
constexpr int kDigitBits = 8;
constexpr int kBins = 1 << kDigitBits;
constexpr float kNever = -INFINITY;

struct SampleShared {
  Share bins[kBins];
  Share warps[kWarpSize];
  Share found[2];
};

// exp(x) for x <= 0 by the polynomial of the host's sampler (engine/sampling/softmax.cpp), to the bit.
__device__ inline float ExpOf(float x) {
  constexpr float kSmallest = -87.0f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
  const float bounded = x > kSmallest ? x : kSmallest;
  const float shifted = bounded * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  const float p =
      1.0f + r * (1.0f + r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
  const uint32_t exponent = FloatBits(shifted) - FloatBits(kRound);
  return x < kSmallest ? 0.0f : p * FloatOfBits((exponent + 127) << 23);
}

// Not-a-number never wins, and one infinite logit does not spoil the others.
__device__ inline float Sanitized(float logit) {
  if (!(logit == logit)) return kNever;
  return logit > FLT_MAX ? FLT_MAX : logit;
}

__device__ inline float Edited(float logit, const LogitEdit& edit) {
  logit += edit.bias;
  logit = logit > 0.0f ? logit / edit.repetition : logit * edit.repetition;
  logit -= edit.penalty;
  return edit.banned != 0 ? kNever : Sanitized(logit);
}

template <class Fold>
__device__ inline Share FoldBlock(Share value, Share* warps) {
  value = FoldWarp<Fold>(value, Site::current());
  SyncThreads();  // the last fold's values were read
  if (Lane() == 0) warps[Warp()] = value;
  SyncThreads();
  return FoldWarp<Fold>(Lane() < kSampleThreads / kWarpSize ? warps[Lane()] : Share{0}, Site::current());
}

// The inclusive sum over the lanes up to this one.
__device__ inline Share SumUpTo(Share value) {
  for (int distance = 1; distance < kWarpSize; distance *= 2) {
    const Share other = Shuffle(kFullWarp, value, Lane() >= distance ? Lane() - distance : Lane());
    if (Lane() >= distance) value += other;
  }
  return value;
}

// The tokens of a row that may still be drawn, and their shares.
struct Kept {
  const float* logits;
  int count;
  float highest, inverse_temperature;
  Share lowest_rank = 0;  // of RankOf
  float least = 0.0f;     // weight; the likeliest token's is 1

  __device__ Share Rank(int token) const { return RankOf(logits[token], token); }
  __device__ Share operator()(int token) const {
    const float weight = ExpOf((logits[token] - highest) * inverse_temperature);
    if (weight < least || Rank(token) < lowest_rank) return 0;
    return static_cast<Share>(weight * 0x1p44f);
  }
};

// A function of all tokens, added up.
template <class F>
__device__ inline Share Total(int count, const F& of, Share* warps) {
  Share sum = 0;
  for (int i = static_cast<int>(ThreadIndex().x); i < count; i += kSampleThreads) sum += of(i);
  return FoldBlock<SumOfTwo>(sum, warps);
}

// The rank at which `amount`, added up from the highest rank down, reaches `need`, which is at least 1 and at most the
// sum of all: digit by digit, the highest first.
template <class F>
__device__ inline Share RankThatReaches(Share need, const Kept& kept, const F& amount, SampleShared* shared) {
  Share rank = 0;
  for (int shift = 64 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    for (int b = static_cast<int>(ThreadIndex().x); b < kBins; b += kSampleThreads) shared->bins[b] = 0;
    SyncThreads();
    for (int i = static_cast<int>(ThreadIndex().x); i < kept.count; i += kSampleThreads) {
      const Share at = kept.Rank(i);
      if (shift + kDigitBits < 64 && at >> (shift + kDigitBits) != rank) continue;
      const Share more = amount(i);
      if (more > 0) AtomicAdd(&shared->bins[at >> shift & (kBins - 1)], more);
    }
    SyncThreads();
    if (Warp() == 0) {  // a lane takes a run of digits, the first lane the highest ones
      constexpr int kRun = kBins / kWarpSize;
      Share mine = 0;
      for (int j = 0; j < kRun; ++j) mine += shared->bins[kBins - 1 - Lane() * kRun - j];
      const Share up_to = SumUpTo(mine);
      if (up_to - mine < need && need <= up_to) {
        Share left = need - (up_to - mine);
        int digit = kBins - 1 - Lane() * kRun;
        while (shared->bins[digit] < left) left -= shared->bins[digit--];
        shared->found[0] = static_cast<Share>(digit);
        shared->found[1] = left;
      }
    }
    SyncThreads();
    rank = rank << kDigitBits | shared->found[0];
    need = shared->found[1];
  }
  return rank;
}

// The token at which shares, added up in the order of ids, reach `need`. Each warp adds up a run of the tokens; then
// the run in which they reach it is cut in the same way, until it is a warp's.
__device__ inline int TokenThatReaches(Share need, const Kept& kept, SampleShared* shared) {
  constexpr int kWarps = kSampleThreads / kWarpSize;
  int begin = 0, end = kept.count;
  while (end - begin > kWarpSize) {
    const int run = (end - begin + kSampleThreads - 1) / kSampleThreads * kWarpSize;
    const int first = begin + Warp() * run;
    const int last = first + run < end ? first + run : end;
    Share sum = 0;
    for (int i = first + Lane(); i < last; i += kWarpSize) sum += kept(i);
    sum = WarpSum(sum);
    SyncThreads();  // the last fold's values, and what was found, were read
    if (Lane() == 0) shared->warps[Warp()] = sum;
    SyncThreads();
    const Share up_to = SumUpTo(Lane() < kWarps ? shared->warps[Lane()] : Share{0});
    const Share reached = Shuffle(kFullWarp, up_to, Warp());
    if (Lane() == 0 && reached - sum < need && need <= reached) {
      shared->found[0] = static_cast<Share>(first);
      shared->found[1] = need - (reached - sum);
    }
    SyncThreads();
    begin = static_cast<int>(shared->found[0]);
    end = begin + run < end ? begin + run : end;
    need = shared->found[1];
  }
  const Share mine = begin + Lane() < end ? kept(begin + Lane()) : Share{0};
  const Share reached = SumUpTo(mine);
  const bool here = reached - mine < need && need <= reached;  // in one lane
  return begin + WarpMax(here ? Lane() : 0);
}

// A whole number from 1 to `most`.
__device__ inline Share Clamped(double value, Share most) {
  const Share whole = value < 1.0 ? 1 : static_cast<Share>(value);
  return whole < most ? whole : most;
}

// Keeps the k likeliest tokens.
__device__ inline void KeepTopK(int32_t k, Kept& kept, SampleShared* shared) {
  const auto one = [&](int i) { return kept(i) > 0 ? Share{1} : Share{0}; };
  const Share present = Total(kept.count, one, shared->warps);
  const Share wanted = static_cast<Share>(k) < present ? static_cast<Share>(k) : present;
  kept.lowest_rank = RankThatReaches(wanted, kept, one, shared);
}

// Keeps the smallest set of the likeliest tokens whose probability reaches p.
__device__ inline void KeepTopP(float p, Kept& kept, SampleShared* shared) {
  const Share total = Total(kept.count, kept, shared->warps);
  const Share need = Clamped(ceil(double{p} * static_cast<double>(total)), total);
  // All tokens with less than this are together less than what may be left out.
  const Share outside = (total - need) / static_cast<Share>(kept.count);
  const auto share = [&](int i) {
    const Share of = kept(i);
    return of < outside ? Share{0} : of;
  };
  kept.lowest_rank = RankThatReaches(need, kept, share, shared);
}

// The draw of a row of which at least one token may be chosen.
__device__ inline int32_t Draw(const SampleParams& params, Kept& kept, SampleShared* shared) {
  const bool top_k = params.top_k > 0 && params.top_k < kept.count;
  const bool top_p = params.top_p < 1.0f;
  if (top_k) KeepTopK(params.top_k, kept, shared);
  if (top_p) KeepTopP(params.top_p, kept, shared);
  kept.least = params.min_p < 1.0f ? params.min_p : 1.0f;
  const Share total = Total(kept.count, kept, shared->warps);
  const Share need = Clamped(floor(params.uniform * static_cast<double>(total)) + 1.0, total);
  if (top_k || top_p) return IndexOfRank(RankThatReaches(need, kept, kept, shared));
  return TokenThatReaches(need, kept, shared);
}

// The likeliest of a thread's tokens, which come in order.
struct Likeliest {
  float logit = kNever;
  int token = 0;

  __device__ void Add(float other, int other_token) {
    if (!(other > logit)) return;
    logit = other;
    token = other_token;
  }
};

// The rank of the likeliest token of a row, with the kNever of those that the mask leaves out. Unless `values` is null,
// the logits are stored there as they may be drawn.
template <int kPack>
__device__ inline Share LargestRank(const float* from, int count, const uint64_t* mask, int words, float* values,
                                    Share* warps) {
  using Logits = Pack<float, kPack>;
  constexpr int kAtOnce = 4;  // loads of a thread on their way: one block has to draw what its processor can
  const int packs = count / kPack;
  Likeliest likeliest;
  for (int first = static_cast<int>(ThreadIndex().x); first < packs; first += kAtOnce * kSampleThreads) {
    Logits held[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) {
      const int p = first + k * kSampleThreads;
      held[k] = p < packs ? reinterpret_cast<const Logits*>(from)[p] : Logits{};
    }
    for (int k = 0; k < kAtOnce; ++k) {
      const int p = first + k * kSampleThreads;
      if (p >= packs) continue;
      const int token = p * kPack;  // the packs of 64 tokens have one word of a mask
      uint64_t allowed = ~uint64_t{0};
      if (words >= 0) allowed = token / 64 < words ? mask[token / 64] >> (token % 64) : 0;
      for (int i = 0; i < kPack; ++i) {
        held[k].x[i] = (allowed >> i & 1) != 0 ? Sanitized(held[k].x[i]) : kNever;
        likeliest.Add(held[k].x[i], token + i);
      }
      if (values != nullptr) reinterpret_cast<Logits*>(values)[p] = held[k];
    }
  }
  return FoldBlock<LargerOfTwo>(RankOf(likeliest.logit, likeliest.token), warps);
}

// A block takes one row.
__global__ void __launch_bounds__(kSampleThreads, 1)
    SampleKernel(Rows<const float> logits, bool packed, const SampleParams* all, const LogitEdit* edits,
                 const uint64_t* masks, float* scratch, int32_t* tokens) {
  const int64_t row = BlockIndex().x;
  const SampleParams params = all[row];
  const int thread = static_cast<int>(ThreadIndex().x);
  const int count = static_cast<int>(logits.columns);
  const float* from = logits.data + row * logits.stride;
  float* values = scratch + row * logits.columns;
  auto* shared = SharedMemory<SampleShared>();
  const auto largest = [&](const float* of, int words, float* to) {
    const uint64_t* mask = masks + params.first_word;
    return packed ? LargestRank<kWidest<float>>(of, count, mask, words, to, shared->warps)
                  : LargestRank<1>(of, count, mask, words, to, shared->warps);
  };

  const bool draws = params.inverse_temperature > 0.0f;
  const bool stores = draws || params.edits > 0;  // what is only compared needs no copy
  Share best = largest(from, params.words, stores ? values : nullptr);
  if (params.edits > 0) {  // FoldBlock has waited for the values
    for (int e = thread; e < params.edits; e += kSampleThreads) {
      const LogitEdit edit = edits[params.first_edit + e];
      values[edit.token] = Edited(values[edit.token], edit);
    }
    SyncThreads();
    best = largest(values, -1, nullptr);
  }
  const int32_t likeliest = IndexOfRank(best);
  int32_t chosen = likeliest;
  if (best >> 32 == OrderOf(kNever)) {
    chosen = -1;
  } else if (draws) {
    Kept kept{values, count, values[likeliest], params.inverse_temperature};
    chosen = Draw(params, kept, shared);
  }
  if (thread == 0) tokens[row] = chosen;
}

}  // namespace

Status SampleRows(Rows<const float> logits, const SampleParams* params, const LogitEdit* edits, const uint64_t* masks,
                  float* scratch, int32_t* tokens, Stream stream) {
  if (logits.columns > kMostSampledTokens) {
    return Fail(ErrorCode::kUnsupported, "sampling from {} tokens on the device; at most {} are supported",
                logits.columns, kMostSampledTokens);
  }
  const bool packed = Packs<float>(kWidest<float>, logits.columns, {logits.stride}, {logits.data, scratch});
  return Launch(SampleKernel, {static_cast<unsigned>(logits.rows)}, {kSampleThreads}, sizeof(SampleShared), stream,
                logits, packed, params, edits, masks, scratch, tokens);
}

}  // namespace inferflux::cuda
