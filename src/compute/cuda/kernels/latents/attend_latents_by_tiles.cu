#include <cmath>

#include "compute/cuda/device/async_copy.h"
#include "compute/cuda/device/half.h"
#include "compute/cuda/device/mma.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/latents/latents.h"
#include "compute/cuda/kernels/merged_softmax.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kLatent = kTiledLatent;
constexpr int kWidth = kTiledLatent + kTiledRotated;
// Four warps, two by two. For the scores each has 16 heads and 16 keys; for the results 16 heads and half of the
// latent.
constexpr int kTileHeads = 32;
constexpr int kTileKeys = 32;
constexpr int kLatentThreads = 128;
constexpr int kLatentPitch = kWidth + 8;  // elements; ldmatrix's eight rows are then in different banks
constexpr int kWeightPitch = kTileKeys + 8;
constexpr int kColumns = kLatent / 2;  // of a warp's results

// The shared memory of a block.
template <class T>
struct TileShared {
  T* queries;      // [heads, kLatentPitch]
  T* keys;         // [keys, kLatentPitch], which are the values too
  T* weights;      // [heads, kWeightPitch]
  float* largest;  // [2, heads]: of each half of the keys
  float* sums;     // the same

  __device__ TileShared()
      : queries(SharedMemory<T>()),
        keys(queries + kTileHeads * kLatentPitch),
        weights(keys + kTileKeys * kLatentPitch),
        largest(reinterpret_cast<float*>(weights + kTileHeads * kWeightPitch)),
        sums(largest + 2 * kTileHeads) {}

  static constexpr size_t kBytes =
      (static_cast<size_t>(kTileHeads + kTileKeys) * kLatentPitch + kTileHeads * kWeightPitch) * sizeof(uint16_t) +
      4 * kTileHeads * sizeof(float);
};

// A row's heads from `first` on, each its query and its rotated query; zeros for heads that are not there.
template <class T>
__device__ inline void CopyHeads(T* to, const Rows<const T>& q, const Rows<const T>& rotated, int64_t row, int first,
                                 int heads) {
  constexpr int kChunks = kWidth / 8;  // of 16 bytes
  for (int i = static_cast<int>(ThreadIndex().x); i < kTileHeads * kChunks; i += kLatentThreads) {
    const int head = i / kChunks;
    const int at = i % kChunks * 8;
    const T* from = q.data;
    if (head < heads && at < kLatent) {
      from = q.data + row * q.stride + int64_t{first + head} * kLatent + at;
    } else if (head < heads) {
      from = rotated.data + row * rotated.stride + int64_t{first + head} * kTiledRotated + at - kLatent;
    }
    CopyAsync16(to + head * kLatentPitch + at, from, head < heads);
  }
}

// Keys [first, first + 32) of the chunk; zeros beyond its end, since a weight of zero times garbage may be no number.
template <class T>
__device__ inline void CopyKeys(T* to, const LatentArguments<T>& a, const RowChunk& chunk, int first) {
  constexpr int kChunks = kWidth / 8;
  for (int i = static_cast<int>(ThreadIndex().x); i < kTileKeys * kChunks; i += kLatentThreads) {
    const int key = first + i / kChunks;
    const int at = i % kChunks * 8;
    const bool present = key < chunk.end;
    int64_t from = 0;
    if (present) from = chunk.Slot(a.step, key) * kWidth + at;
    CopyAsync16(to + i / kChunks * kLatentPitch + at, a.kv.keys + from, present);
  }
}

// A warp's scores: 16 heads by 16 keys.
template <class T>
__device__ inline void MultiplyLatentKeys(FragmentC<float> (&scores)[2], const T* queries, const T* keys) {
  const int matrix = Lane() / 8;
  const int row = Lane() % 8;
  for (int k = 0; k < kWidth; k += 16) {
    FragmentA left;
    LoadMatrix4(left.x, queries + Lane() % 16 * kLatentPitch + k + Lane() / 16 * 8);
    uint32_t pair[4];
    LoadMatrix4(pair, keys + (row + matrix / 2 * 8) * kLatentPitch + k + matrix % 2 * 8);
    MatMulAdd<T>(scores[0], left, FragmentB{{pair[0], pair[1]}});
    MatMulAdd<T>(scores[1], left, FragmentB{{pair[2], pair[3]}});
  }
}

// out += weights * latents, of a warp's 16 heads and half of the latent.
template <class T>
__device__ inline void MultiplyLatents(FragmentC<float> (&out)[kColumns / 8], const T* weights, const T* latents) {
  const int matrix = Lane() / 8;
  const int row = Lane() % 8;
  for (int k = 0; k < kTileKeys; k += 16) {
    FragmentA left;
    LoadMatrix4(left.x, weights + Lane() % 16 * kWeightPitch + k + Lane() / 16 * 8);
    for (int j = 0; j < kColumns / 8; j += 2) {
      uint32_t pair[4];
      LoadMatrix4<true>(pair, latents + (k + row + matrix % 2 * 8) * kLatentPitch + j * 8 + matrix / 2 * 8);
      MatMulAdd<T>(out[j], left, FragmentB{{pair[0], pair[1]}});
      MatMulAdd<T>(out[j + 1], left, FragmentB{{pair[2], pair[3]}});
    }
  }
}

// The softmax as it goes on (arXiv:1805.02867), of each of a thread's two heads. Two warps share a head, each with half
// of the keys: they know the largest score of both, and each has the sum of its own weights.
struct SharedSoftmax {
  float largest[2] = {kMasked, kMasked};
  float sum[2] = {0.0f, 0.0f};

  // Turns scores into weights, and yields by what each head's earlier sums have to be multiplied. `tops`: [2, heads],
  // from the thread's first head on; `half`: of the keys.
  __device__ void Update(FragmentC<float> (&scores)[2], float* tops, int half, float (&factor)[2]) {
    for (int h = 0; h < 2; ++h) {
      float top =
          fmaxf(fmaxf(scores[0].x[2 * h], scores[0].x[2 * h + 1]), fmaxf(scores[1].x[2 * h], scores[1].x[2 * h + 1]));
      for (int flip = 1; flip < 4; flip *= 2) top = fmaxf(top, ShuffleXor(kFullWarp, top, flip));
      if (Lane() % 4 == 0) tops[half * kTileHeads + 8 * h] = top;
    }
    SyncThreads();
    for (int h = 0; h < 2; ++h) {
      const float top = fmaxf(largest[h], fmaxf(tops[8 * h], tops[kTileHeads + 8 * h]));
      factor[h] = WeighScores(scores, h, top, largest[h], sum[h]);
    }
  }
};

// Blocks x are rows, y are runs of heads, z are chunks of what the row reads.
template <class T>
__global__ void __launch_bounds__(kLatentThreads, 2)
    AttendLatentTilesKernel(LatentArguments<T> a, Rows<const T> q, Rows<const T> rotated) {
  const int64_t row = BlockIndex().x;
  const int first_head = static_cast<int>(BlockIndex().y) * kTileHeads;
  const int heads = a.heads - first_head < kTileHeads ? a.heads - first_head : kTileHeads;
  const RowChunk chunk = a.Chunk(row, static_cast<int>(BlockIndex().z));
  if (chunk.begin >= chunk.end) return;

  const TileShared<T> shared;
  const int warp_head = Warp() / 2 * 16;
  const int half = Warp() % 2;                  // of the keys, and of the latent
  const int own_head = warp_head + Lane() / 4;  // and the one 8 after it
  CopyHeads(shared.queries, q, rotated, row, first_head, heads);
  FragmentC<float> out[kColumns / 8] = {};
  SharedSoftmax softmax;
  for (int first = chunk.begin; first < chunk.end; first += kTileKeys) {
    if (first > chunk.begin) SyncThreads();  // the keys and weights before were used
    CopyKeys(shared.keys, a, chunk, first);
    CommitCopies();
    WaitCopies<0>();
    SyncThreads();
    FragmentC<float> scores[2] = {};
    MultiplyLatentKeys(scores, shared.queries + warp_head * kLatentPitch, shared.keys + half * 16 * kLatentPitch);
    for (int j = 0; j < 2; ++j) {
      for (int e = 0; e < 4; ++e) {
        const int key = first + half * 16 + j * 8 + Lane() % 4 * 2 + e % 2;
        scores[j].x[e] = key < chunk.end ? scores[j].x[e] * a.scale * kLog2E : kMasked;
      }
    }
    float factor[2];
    softmax.Update(scores, shared.largest + own_head, half, factor);
    for (int j = 0; j < 2; ++j) {
      for (int e = 0; e < 4; ++e) {
        T* to = shared.weights + (own_head + e / 2 * 8) * kWeightPitch + half * 16 + j * 8 + Lane() % 4 * 2 + e % 2;
        *to = FromFloat<T>(scores[j].x[e]);
      }
    }
    SyncThreads();
    for (auto& part : out) {
      for (int e = 0; e < 4; ++e) part.x[e] *= factor[e / 2];
    }
    MultiplyLatents(out, shared.weights + warp_head * kWeightPitch, shared.keys + half * kColumns);
  }

  for (int h = 0; h < 2; ++h) {
    float sum = softmax.sum[h];
    for (int flip = 1; flip < 4; flip *= 2) sum += ShuffleXor(kFullWarp, sum, flip);
    if (Lane() % 4 == 0) shared.sums[half * kTileHeads + own_head + 8 * h] = sum;
  }
  SyncThreads();
  const bool split = a.chunks > 1;
  float* to[2];
  float whole[2];
  for (int h = 0; h < 2; ++h) {
    const int head = own_head + 8 * h;
    const int64_t head_row = row * a.heads + first_head + head;
    const float sum = shared.sums[head] + shared.sums[kTileHeads + head];
    to[h] = split ? a.partial + (head_row * a.chunks + BlockIndex().z) * (kLatent + 2) : a.y + head_row * kLatent;
    whole[h] = split ? 1.0f : sum;
    if (split && head < heads && half == 0 && Lane() % 4 == 0) {
      to[h][kLatent] = softmax.largest[h];
      to[h][kLatent + 1] = sum;
    }
  }
  for (int j = 0; j < kColumns / 8; ++j) {
    for (int e = 0; e < 4; ++e) {
      if (own_head + e / 2 * 8 >= heads) continue;
      to[e / 2][half * kColumns + j * 8 + Lane() % 4 * 2 + e % 2] = out[j].x[e] / whole[e / 2];
    }
  }
}

}  // namespace

template <class T>
Status AttendLatentsByTiles(const LatentArguments<T>& a, Rows<const T> q, Rows<const T> rotated, Stream stream) {
  const auto aligned = [](const void* at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; };
  if (!aligned(q.data) || !aligned(rotated.data) || q.stride % 8 != 0 || rotated.stride % 8 != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "attention over latents with rows that do not begin at multiples of 16 bytes");
  }
  if (a.latent != kLatent || a.width != kWidth) {
    return Fail(ErrorCode::kUnsupported, "tiles of {} latents and {} rotated keys; there are {} and {}", a.latent,
                a.width - a.latent, kLatent, kTiledRotated);
  }
  const auto runs = static_cast<unsigned>((a.heads + kTileHeads - 1) / kTileHeads);
  auto launched =
      Launch(AttendLatentTilesKernel<T>, {static_cast<unsigned>(q.rows), runs, static_cast<unsigned>(a.chunks)},
             {kLatentThreads}, TileShared<T>::kBytes, stream, a, q, rotated);
  if (!launched || a.chunks == 1) return launched;
  return MergeChunks(a, stream);
}

template Status AttendLatentsByTiles(const LatentArguments<Fp16>&, Rows<const Fp16>, Rows<const Fp16>, Stream);
template Status AttendLatentsByTiles(const LatentArguments<Bf16>&, Rows<const Bf16>, Rows<const Bf16>, Stream);

}  // namespace inferflux::cuda
