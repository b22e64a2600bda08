#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kRopeThreads = 128;

// Neighbouring pairs of a head. Those of halves are two runs, `pairs` apart; interleaved ones are one run.
template <bool kHalves, int kPack>
struct PairsOf {
  using Run = Pack<float, kHalves ? kPack : 2 * kPack>;

  __device__ static void Rotate(const float* from, int i, int pairs, const Pack<float, kPack>& cosines,
                                const Pack<float, kPack>& sines, float* to) {
    if constexpr (kHalves) {
      const Run first = *reinterpret_cast<const Run*>(from + i);
      const Run second = *reinterpret_cast<const Run*>(from + pairs + i);
      Run a, b;
      for (int j = 0; j < kPack; ++j) {
        a.x[j] = first.x[j] * cosines.x[j] - second.x[j] * sines.x[j];
        b.x[j] = first.x[j] * sines.x[j] + second.x[j] * cosines.x[j];
      }
      *reinterpret_cast<Run*>(to + i) = a;
      *reinterpret_cast<Run*>(to + pairs + i) = b;
    } else {
      const Run both = *reinterpret_cast<const Run*>(from + 2 * i);
      Run out;
      for (int j = 0; j < kPack; ++j) {
        out.x[2 * j] = both.x[2 * j] * cosines.x[j] - both.x[2 * j + 1] * sines.x[j];
        out.x[2 * j + 1] = both.x[2 * j] * sines.x[j] + both.x[2 * j + 1] * cosines.x[j];
      }
      *reinterpret_cast<Run*>(to + 2 * i) = out;
    }
  }
};

// Blocks x are rows, of which there may be many, y runs of heads. A block's threads y are heads; x share a head's
// pairs, kPack at a time, and the dimensions that pass.
template <bool kHalves, int kPack>
__global__ void RopeKernel(Rows<const float> x, const float* angles, int pairs, int heads, int head_dim, float* y) {
  WaitForKernelsBefore();
  using Angles = Pack<float, kPack>;
  const int64_t row = BlockIndex().x;
  const auto head = static_cast<int>(BlockIndex().y * BlockSize().y + ThreadIndex().y);
  if (head >= heads) return;
  const float* cosines = angles + row * 2 * pairs;
  const float* sines = cosines + pairs;
  const float* from = x.data + row * x.stride + int64_t{head} * head_dim;
  float* to = y + row * x.columns + int64_t{head} * head_dim;
  const int thread = static_cast<int>(ThreadIndex().x), threads = static_cast<int>(BlockSize().x);
  for (int i = thread * kPack; i < pairs; i += threads * kPack) {
    PairsOf<kHalves, kPack>::Rotate(from, i, pairs, *reinterpret_cast<const Angles*>(cosines + i),
                                    *reinterpret_cast<const Angles*>(sines + i), to);
  }
  for (int d = 2 * pairs + thread; d < head_dim; d += threads) to[d] = from[d];
}

template <bool kHalves, int kPack>
Status LaunchRope(Rows<const float> x, const float* angles, int32_t pairs, const compute::RopeParams& params, float* y,
                  Stream stream) {
  const auto packs = static_cast<unsigned>(pairs / kPack);
  const unsigned of_head = packs < 1 ? 1 : packs < kRopeThreads ? packs : kRopeThreads;
  const auto heads = static_cast<unsigned>(params.heads);
  const unsigned fitting = kRopeThreads / of_head;
  const unsigned of_block = fitting < heads ? fitting : heads;
  return LaunchEarly(RopeKernel<kHalves, kPack>, {static_cast<unsigned>(x.rows), (heads + of_block - 1) / of_block},
                     {of_head, of_block}, 0, stream, x, angles, pairs, params.heads, params.head_dim, y);
}

template <bool kHalves>
Status RopeOfStyle(Rows<const float> x, const float* angles, int32_t pairs, const compute::RopeParams& params, float* y,
                   Stream stream) {
  constexpr int kWide = kWidest<float>;
  constexpr int kPack = kHalves ? kWide : kWide / 2;  // of either style, 16 bytes of a head are one access
  if (Packs<float>(kPack, pairs, {}, {angles}) && Packs<float>(kWide, params.head_dim, {x.stride}, {x.data, y})) {
    return LaunchRope<kHalves, kPack>(x, angles, pairs, params, y, stream);
  }
  return LaunchRope<kHalves, 1>(x, angles, pairs, params, y, stream);
}

}  // namespace

Status Rope(Rows<const float> x, const float* angles, int32_t pairs, const compute::RopeParams& params, float* y,
            Stream stream) {
  const bool halves = params.style == compute::RopeStyle::kHalves;
  return (halves ? RopeOfStyle<true> : RopeOfStyle<false>)(x, angles, pairs, params, y, stream);
}

}  // namespace inferflux::cuda
