#include "compute/cpu/ops/lane_chunks.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace inferflux::compute::cpu {
namespace {

template <int V>
void Gather(const ActivationChunk* x, int64_t rows, std::byte* to) {
  if constexpr (V > kFewestLaneVectors) {
    if (LaneVectorsOf(rows) < V) return Gather<V - 1>(x, rows, to);
  }
  using Chunk = RowLaneChunk<V>;
  static_assert(sizeof(Chunk) <= V * kLaneVectorBytes);
  auto& out = *new (to) Chunk;
  if (rows < Chunk::kRows) std::memset(to, 0, sizeof(Chunk));
  out.highest32 = out.highest8 = 0;
  for (int64_t r = 0; r < std::min<int64_t>(rows, Chunk::kRows); ++r) {
    for (int g = 0; g < kChunk / kGroup; ++g) std::memcpy(out.q[g][r], x[r].q + kGroup * g, kGroup);
    for (int i = 0; i < kBlocks; ++i) out.sums[i / 2][r][i % 2] = x[r].sums[i];
    for (int i = 0; i < kSubs16; ++i) out.sums16[i / 2][r][i % 2] = x[r].sums16[i];
    out.scales[r] = x[r].scales[0];
    out.highest32 = std::max(out.highest32, x[r].highest32);
    out.highest8 = std::max(out.highest8, x[r].highest8);
  }
}

}  // namespace

void GatherLanes(const ActivationChunk* x, int64_t rows, std::byte* out) { Gather<kLaneVectors>(x, rows, out); }

}  // namespace inferflux::compute::cpu
