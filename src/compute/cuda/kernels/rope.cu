#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kRopeThreads = 128;

// A block rotates one row; its threads share the row's pairs, and the dimensions that pass.
template <class T>
__global__ void RopeKernel(Rows<const T> x, const float* angles, int pairs, int heads, int head_dim, bool halves,
                           T* y) {
  const int64_t row = BlockIndex().x;
  const float* cosines = angles + row * 2 * pairs;
  const float* sines = cosines + pairs;
  const T* from = x.data + row * x.stride;
  T* to = y + row * x.columns;
  const int rest = head_dim - 2 * pairs;
  const int steps = pairs + rest;  // of a head
  for (int step = static_cast<int>(ThreadIndex().x); step < heads * steps; step += static_cast<int>(BlockSize().x)) {
    const int head = step / steps * head_dim;
    const int i = step % steps;
    if (i >= pairs) {
      to[head + pairs + i] = from[head + pairs + i];
      continue;
    }
    const int a = head + (halves ? i : 2 * i);
    const int b = head + (halves ? i + pairs : 2 * i + 1);
    const float first = AsFloat(from[a]);
    const float second = AsFloat(from[b]);
    to[a] = FromFloat<T>(first * cosines[i] - second * sines[i]);
    to[b] = FromFloat<T>(first * sines[i] + second * cosines[i]);
  }
}

}  // namespace

template <class T>
Status Rope(Rows<const T> x, const float* angles, int32_t pairs, const compute::RopeParams& params, T* y,
            Stream stream) {
  return Launch(RopeKernel<T>, {static_cast<unsigned>(x.rows)}, {kRopeThreads}, 0, stream, x, angles, pairs,
                params.heads, params.head_dim, params.style == compute::RopeStyle::kHalves, y);
}

template Status Rope(Rows<const float>, const float*, int32_t, const compute::RopeParams&, float*, Stream);
template Status Rope(Rows<const Fp16>, const float*, int32_t, const compute::RopeParams&, Fp16*, Stream);
template Status Rope(Rows<const Bf16>, const float*, int32_t, const compute::RopeParams&, Bf16*, Stream);

}  // namespace inferflux::cuda
