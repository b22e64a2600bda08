#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/latents/latents.h"
#include "compute/cuda/kernels/merged_softmax.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kMergeThreads = 128;

// Blocks x are rows, y heads. A thread takes some of the latent's dimensions.
template <class S>
__global__ void MergeLatentsKernel(LatentArguments<S> a) {
  const int64_t row = BlockIndex().x;
  const int64_t head_row = row * a.heads + BlockIndex().y;
  const int chunks = (a.Count(row) + kLatentChunk - 1) / kLatentChunk;
  for (int d = static_cast<int>(ThreadIndex().x); d < a.latent; d += kMergeThreads) {
    MergedSoftmax merged;
    float total = 0.0f;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const float* partial = a.partial + (head_row * a.chunks + chunk) * (a.latent + 2);
      float old = 0.0f, added = 0.0f;
      merged.Add(partial[a.latent], partial[a.latent + 1], old, added);
      total = fmaf(total, old, partial[d] * added);
    }
    a.y[head_row * a.latent + d] = total / merged.sum;
  }
}

}  // namespace

template <class S>
Status MergeChunks(const LatentArguments<S>& a, Stream stream) {
  return Launch(MergeLatentsKernel<S>, {static_cast<unsigned>(a.q.rows), static_cast<unsigned>(a.heads)},
                {kMergeThreads}, 0, stream, a);
}

template Status MergeChunks(const LatentArguments<float>&, Stream);
template Status MergeChunks(const LatentArguments<Fp16>&, Stream);
template Status MergeChunks(const LatentArguments<Bf16>&, Stream);
template Status MergeChunks(const LatentArguments<int8_t>&, Stream);
template Status MergeChunks(const LatentArguments<Fp8>&, Stream);

}  // namespace inferflux::cuda
