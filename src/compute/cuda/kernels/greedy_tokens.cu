#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/rank.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kGreedyThreads = 512;

// A block takes one row.
__global__ void GreedyKernel(Rows<const float> logits, int32_t* tokens) {
  const float* row = logits.data + int64_t{BlockIndex().x} * logits.stride;
  unsigned long long best = 0;
  for (int64_t c = ThreadIndex().x; c < logits.columns; c += BlockSize().x) {
    const unsigned long long rank = RankOf(row[c], c);
    best = rank > best ? rank : best;
  }
  auto* shared = SharedMemory<unsigned long long>();
  best = WarpMax(best);
  if (Lane() == 0) shared[Warp()] = best;
  SyncThreads();
  if (Warp() != 0) return;
  const int warps = static_cast<int>(BlockSize().x) / kWarpSize;
  best = WarpMax(Lane() < warps ? shared[Lane()] : 0ull);
  if (Lane() == 0) tokens[BlockIndex().x] = IndexOfRank(best);
}

}  // namespace

Status GreedyTokens(Rows<const float> logits, int32_t* tokens, Stream stream) {
  return Launch(GreedyKernel, {static_cast<unsigned>(logits.rows)}, {kGreedyThreads},
                kWarpSize * sizeof(unsigned long long), stream, logits, tokens);
}

}  // namespace inferflux::cuda
