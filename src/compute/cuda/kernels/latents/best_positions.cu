#include "compute/cuda/device/atomic.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/latents/latents.h"
#include "compute/cuda/kernels/rank.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kSelectThreads = 256;
constexpr int kSelectWarps = kSelectThreads / kWarpSize;
constexpr int kDigits = 256;  // of eight bits

struct SelectShared {
  int counts[kDigits];  // of scores by their next digit
  uint32_t prefix;      // the digits of the lowest chosen score that are known
  int left;             // how many of the scores with that prefix are chosen
  int above[kSelectWarps], equal[kSelectWarps];
};

// Radix selection from the highest digit on: the order of the lowest score that is chosen, in `prefix`, and how many of
// its equals are, in `left`.
__device__ inline void FindLowest(const float* scores, int count, int top, SelectShared* shared) {
  const int thread = static_cast<int>(ThreadIndex().x);
  if (thread == 0) {
    shared->prefix = 0;
    shared->left = top;
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    shared->counts[thread] = 0;
    SyncThreads();
    const uint32_t prefix = shared->prefix;
    for (int p = thread; p < count; p += kSelectThreads) {
      const uint32_t order = OrderOf(scores[p]);
      if (shift < 24 && order >> (shift + 8) != prefix) continue;
      AtomicAdd(&shared->counts[order >> shift & (kDigits - 1)], 1);
    }
    SyncThreads();
    if (thread == 0) {
      int digit = kDigits - 1;
      int left = shared->left;
      while (shared->counts[digit] < left) left -= shared->counts[digit--];
      shared->prefix = prefix << 8 | static_cast<uint32_t>(digit);
      shared->left = left;
    }
    SyncThreads();
  }
}

__device__ inline int CountBits(unsigned bits) {
  int count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

// A block takes one row.
__global__ void __launch_bounds__(kSelectThreads)
    BestPositionsKernel(const float* scores, int32_t length, const int32_t* row_positions, int64_t first, int32_t top,
                        int32_t* positions) {
  const int64_t row = BlockIndex().x;
  const int thread = static_cast<int>(ThreadIndex().x);
  const int count = row_positions[first + row] + 1;
  int32_t* to = positions + row * top;
  if (count <= top) {
    for (int p = thread; p < count; p += kSelectThreads) to[p] = p;
    return;
  }
  auto* shared = SharedMemory<SelectShared>();
  const float* from = scores + row * length;
  FindLowest(from, count, top, shared);
  const uint32_t lowest = shared->prefix;
  const int equals = shared->left;

  // In ascending order: a run of positions after the other.
  int written = 0, equals_seen = 0;
  for (int begin = 0; begin < count; begin += kSelectThreads) {
    const int p = begin + thread;
    const uint32_t order = p < count ? OrderOf(from[p]) : 0u;
    const bool is_above = p < count && order > lowest;
    const bool is_equal = p < count && order == lowest;
    const unsigned above = Ballot(kFullWarp, is_above), equal = Ballot(kFullWarp, is_equal);
    if (Lane() == 0) {
      shared->above[Warp()] = CountBits(above);
      shared->equal[Warp()] = CountBits(equal);
    }
    SyncThreads();
    int above_before = 0, equal_before = equals_seen, above_all = 0, equal_all = equals_seen;
    for (int w = 0; w < kSelectWarps; ++w) {
      if (w < Warp()) {
        above_before += shared->above[w];
        equal_before += shared->equal[w];
      }
      above_all += shared->above[w];
      equal_all += shared->equal[w];
    }
    const unsigned lower_lanes = (1u << Lane()) - 1u;
    above_before += CountBits(above & lower_lanes);
    equal_before += CountBits(equal & lower_lanes);
    const int equal_taken = equal_before < equals ? equal_before : equals;
    const int seen_taken = equals_seen < equals ? equals_seen : equals;
    if (is_above || (is_equal && equal_before < equals)) to[written + above_before + equal_taken - seen_taken] = p;
    written += above_all + (equal_all < equals ? equal_all : equals) - seen_taken;
    equals_seen = equal_all;
    SyncThreads();  // the counts were used
  }
}

}  // namespace

Status BestPositions(const float* scores, int32_t length, const int32_t* row_positions, int64_t first, int64_t count,
                     int32_t top, int32_t* positions, Stream stream) {
  return Launch(BestPositionsKernel, {static_cast<unsigned>(count)}, {kSelectThreads}, sizeof(SelectShared), stream,
                scores, length, row_positions, first, top, positions);
}

}  // namespace inferflux::cuda
