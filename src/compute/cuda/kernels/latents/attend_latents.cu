#include <cmath>

#include "compute/cuda/device/half.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/latents/latents.h"
#include "compute/cuda/kernels/merged_softmax.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kHeadsAtOnce = 8;  // of a block: each latent is read once for all of them
constexpr int kHeadsOfWarp = kHeadsAtOnce / kWarps;
constexpr int32_t kMostWidth = 1024;

// The shared memory of a block.
struct LatentShared {
  float* queries;  // [heads, width]
  float* out;      // [heads, latent]
  float* weights;  // [heads, keys of a chunk]; first their scores
  float* factors;  // [heads], of what was summed before; at last one by the sum of weights
  int64_t* slots;  // of the keys

  __device__ LatentShared(int latent, int width)
      : queries(SharedMemory<float>()),
        out(queries + kHeadsAtOnce * width),
        weights(out + kHeadsAtOnce * latent),
        factors(weights + kHeadsAtOnce * kThreads),
        slots(reinterpret_cast<int64_t*>(factors + kHeadsAtOnce)) {}

  static size_t Bytes(int latent, int width) {
    return static_cast<size_t>(kHeadsAtOnce) * static_cast<size_t>(width + latent + kThreads + 1) * sizeof(float) +
           kThreads * sizeof(int64_t);
  }
};

// The softmax of a head as it goes on (arXiv:1805.02867), in every lane of a warp. Scores are in units of log 2.
struct HeadSoftmax {
  float largest = kMasked;
  float sum = 0.0f;

  // Makes weights of a chunk's scores, and yields what the sums before are multiplied by.
  __device__ float Update(float* scores) {
    float top = largest;
    for (int k = Lane(); k < kThreads; k += kWarpSize) top = fmaxf(top, scores[k]);
    top = WarpMax(top);
    const float base = top == kMasked ? 0.0f : top;
    const float factor = largest == kMasked ? 0.0f : exp2f(largest - base);  // 0: of zeros
    float total = 0.0f;
    for (int k = Lane(); k < kThreads; k += kWarpSize) total += scores[k] = exp2f(scores[k] - base);
    largest = top;
    sum = fmaf(sum, factor, WarpSum(total));
    return factor;
  }
};

// Blocks x are rows, y are runs of heads, z are chunks of what the row reads. A thread takes one key of 128 for the
// scores of all heads, a warp the softmax of some heads, and a thread some dimensions of all heads for the sums.
template <class S>
__global__ void __launch_bounds__(kThreads, 4) AttendLatentsKernel(LatentArguments<S> a) {
  const int64_t row = BlockIndex().x;
  const int first_head = static_cast<int>(BlockIndex().y) * kHeadsAtOnce;
  const int heads = a.heads - first_head < kHeadsAtOnce ? a.heads - first_head : kHeadsAtOnce;
  const int thread = static_cast<int>(ThreadIndex().x);
  const RowChunk chunk = a.Chunk(row, static_cast<int>(BlockIndex().z));
  if (chunk.begin >= chunk.end) return;

  const LatentShared shared(a.latent, a.width);
  const int tail = a.width - a.latent;
  for (int i = thread; i < kHeadsAtOnce * a.width; i += kThreads) {
    const int head = i / a.width, d = i % a.width;
    float value = 0.0f;  // of heads that are not there
    if (head < heads && d < a.latent) {
      value = a.q.data[row * a.q.stride + int64_t{first_head + head} * a.latent + d];
    } else if (head < heads) {
      value = a.rotated.data[row * a.rotated.stride + int64_t{first_head + head} * tail + d - a.latent];
    }
    shared.queries[i] = value;
  }
  for (int i = thread; i < kHeadsAtOnce * a.latent; i += kThreads) shared.out[i] = 0.0f;
  HeadSoftmax softmax[kHeadsOfWarp];

  for (int first = chunk.begin; first < chunk.end; first += kThreads) {
    SyncThreads();  // the queries are there; the weights of the keys before were used
    const int key = first + thread;
    float scores[kHeadsAtOnce] = {};
    int64_t slot = 0;
    if (key < chunk.end) {
      slot = chunk.Slot(a.step, key);
      const S* elements = a.kv.keys + slot * a.width;
      for (int d = 0; d < a.width; ++d) {
        const float element = AsFloat(elements[d]);
        for (int h = 0; h < kHeadsAtOnce; ++h) {
          scores[h] = fmaf(shared.queries[h * a.width + d], element, scores[h]);
        }
      }
    }
    const float scale = a.kv.key_scales != nullptr && key < chunk.end ? a.kv.key_scales[slot] : 1.0f;
    for (int h = 0; h < kHeadsAtOnce; ++h) {
      shared.weights[h * kThreads + thread] = key < chunk.end ? scores[h] * a.scale * scale * kLog2E : kMasked;
    }
    shared.slots[thread] = slot;
    SyncThreads();
    for (int i = 0; i < kHeadsOfWarp; ++i) {
      const int head = Warp() * kHeadsOfWarp + i;
      const float factor = softmax[i].Update(shared.weights + head * kThreads);
      if (Lane() == 0) shared.factors[head] = factor;
    }
    SyncThreads();
    const int keys = chunk.end - first < kThreads ? chunk.end - first : kThreads;
    for (int d = thread; d < a.latent; d += kThreads) {
      float totals[kHeadsAtOnce];
      for (int h = 0; h < kHeadsAtOnce; ++h) totals[h] = shared.out[h * a.latent + d] * shared.factors[h];
      for (int k = 0; k < keys; ++k) {
        float element = AsFloat(a.kv.keys[shared.slots[k] * a.width + d]);
        if (a.kv.key_scales != nullptr) element *= a.kv.key_scales[shared.slots[k]];
        for (int h = 0; h < kHeadsAtOnce; ++h) totals[h] = fmaf(shared.weights[h * kThreads + k], element, totals[h]);
      }
      for (int h = 0; h < kHeadsAtOnce; ++h) shared.out[h * a.latent + d] = totals[h];
    }
  }

  if (a.chunks > 1) {
    const int64_t head_row = row * a.heads + first_head;
    const auto partial_of = [&](int head) {
      return a.partial + ((head_row + head) * a.chunks + BlockIndex().z) * (a.latent + 2);
    };
    for (int i = 0; i < kHeadsOfWarp; ++i) {
      const int head = Warp() * kHeadsOfWarp + i;
      if (Lane() != 0 || head >= heads) continue;
      partial_of(head)[a.latent] = softmax[i].largest;
      partial_of(head)[a.latent + 1] = softmax[i].sum;
    }
    for (int head = 0; head < heads; ++head) {
      for (int d = thread; d < a.latent; d += kThreads) partial_of(head)[d] = shared.out[head * a.latent + d];
    }
    return;
  }
  SyncThreads();  // the last factors were used
  for (int i = 0; i < kHeadsOfWarp; ++i) {
    if (Lane() == 0) shared.factors[Warp() * kHeadsOfWarp + i] = softmax[i].sum;
  }
  SyncThreads();
  float* y = a.y + (row * a.heads + first_head) * a.latent;
  for (int head = 0; head < heads; ++head) {
    for (int d = thread; d < a.latent; d += kThreads) {
      y[int64_t{head} * a.latent + d] = shared.out[head * a.latent + d] / shared.factors[head];
    }
  }
}

}  // namespace

template <class S>
Status AttendLatents(const LatentArguments<S>& a, Stream stream) {
  if (a.width > kMostWidth) {
    return Fail(ErrorCode::kUnsupported,
                "attention over latents and rotated keys of {} values; at most {} are supported", a.width, kMostWidth);
  }
  const auto runs = static_cast<unsigned>((a.heads + kHeadsAtOnce - 1) / kHeadsAtOnce);
  auto launched =
      Launch(AttendLatentsKernel<S>, {static_cast<unsigned>(a.q.rows), runs, static_cast<unsigned>(a.chunks)},
             {kThreads}, LatentShared::Bytes(a.latent, a.width), stream, a);
  if (!launched || a.chunks == 1) return launched;
  return MergeChunks(a, stream);
}

template Status AttendLatents(const LatentArguments<float>&, Stream);
template Status AttendLatents(const LatentArguments<Fp16>&, Stream);
template Status AttendLatents(const LatentArguments<Bf16>&, Stream);
template Status AttendLatents(const LatentArguments<int8_t>&, Stream);
template Status AttendLatents(const LatentArguments<Fp8>&, Stream);

}  // namespace inferflux::cuda
