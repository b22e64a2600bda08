#include <cmath>

#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kAngleThreads = 64;

// A block computes one row, once a step.
__global__ void AnglesKernel(const int32_t* positions, const float* inverse_frequencies, int pairs, float magnitude,
                             float* angles) {
  const int64_t row = BlockIndex().x;
  for (int i = static_cast<int>(ThreadIndex().x); i < pairs; i += kAngleThreads) {
    const float angle = static_cast<float>(positions[row]) * inverse_frequencies[i];
    angles[row * 2 * pairs + i] = cosf(angle) * magnitude;
    angles[row * 2 * pairs + pairs + i] = sinf(angle) * magnitude;
  }
}

}  // namespace

Status RopeAngles(const int32_t* positions, int64_t rows, const float* inverse_frequencies, int32_t pairs,
                  float magnitude, float* angles, Stream stream) {
  return Launch(AnglesKernel, {static_cast<unsigned>(rows)}, {kAngleThreads}, 0, stream, positions, inverse_frequencies,
                pairs, magnitude, angles);
}

}  // namespace inferflux::cuda
