#include "compute/cuda/device/atomic.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/products/products.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kGroupThreads = 256;
constexpr int32_t kLinesOfTile = 64;

// One block. Shared: of each expert its lines, where they begin in the order, and its first tile. The lines of an
// expert may come in any order: a line's product does not depend on its neighbours.
__global__ void GroupLinesKernel(const int32_t* experts, int64_t lines, int32_t count, int32_t* order, int32_t* tiles,
                                 int32_t tile_count) {
  int* counts = SharedMemory<int>();
  int* begins = counts + count;
  int* first_tiles = begins + count;
  const int thread = static_cast<int>(ThreadIndex().x);
  for (int e = thread; e < count; e += kGroupThreads) counts[e] = 0;
  SyncThreads();
  for (int64_t l = thread; l < lines; l += kGroupThreads) AtomicAdd(&counts[experts[l]], 1);
  SyncThreads();
  if (thread == 0) {
    int begin = 0, tile = 0;
    for (int e = 0; e < count; ++e) {
      begins[e] = begin;
      first_tiles[e] = tile;
      begin += counts[e];
      tile += (counts[e] + kLinesOfTile - 1) / kLinesOfTile;
    }
    for (; tile < tile_count; ++tile) tiles[3 * tile] = -1;
  }
  SyncThreads();
  for (int e = thread; e < count; e += kGroupThreads) {
    for (int first = 0, tile = first_tiles[e]; first < counts[e]; first += kLinesOfTile, ++tile) {
      const int left = counts[e] - first;
      tiles[3 * tile] = e;
      tiles[3 * tile + 1] = begins[e] + first;
      tiles[3 * tile + 2] = left < kLinesOfTile ? left : kLinesOfTile;
    }
  }
  SyncThreads();  // `begins` moves on now
  for (int64_t l = thread; l < lines; l += kGroupThreads) {
    order[AtomicAdd(&begins[experts[l]], 1)] = static_cast<int32_t>(l);
  }
}

}  // namespace

Status GroupLines(const int32_t* experts, int64_t lines, int32_t count, int32_t* order, int32_t* tiles,
                  int32_t tile_count, Stream stream) {
  return Launch(GroupLinesKernel, {1}, {kGroupThreads}, 3 * static_cast<size_t>(count) * sizeof(int), stream, experts,
                lines, count, order, tiles, tile_count);
}

}  // namespace inferflux::cuda
