#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kRopeThreads = 128;

// A block rotates one row; its threads share the row's pairs, and the dimensions that pass.
__global__ void RopeKernel(Rows<const float> x, const float* angles, int pairs, int heads, int head_dim, bool halves,
                           float* y) {
  const int64_t row = BlockIndex().x;
  const float* cosines = angles + row * 2 * pairs;
  const float* sines = cosines + pairs;
  const float* from = x.data + row * x.stride;
  float* to = y + row * x.columns;
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
    const float first = from[a];
    const float second = from[b];
    to[a] = first * cosines[i] - second * sines[i];
    to[b] = first * sines[i] + second * cosines[i];
  }
}

}  // namespace

Status Rope(Rows<const float> x, const float* angles, int32_t pairs, const compute::RopeParams& params, float* y,
            Stream stream) {
  return Launch(RopeKernel, {static_cast<unsigned>(x.rows)}, {kRopeThreads}, 0, stream, x, angles, pairs, params.heads,
                params.head_dim, params.style == compute::RopeStyle::kHalves, y);
}

}  // namespace inferflux::cuda
