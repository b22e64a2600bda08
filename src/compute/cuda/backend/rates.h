// What a device does at best, measured through the runtime interface.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "compute/cuda/runtime.h"
#include "compute/device_features.h"

namespace inferflux::cuda {

// How much is copied and multiplied at once.
struct RateSizes {
  size_t copy_bytes = 0;
  int64_t product = 0;  // rows and columns of the three matrices
};

// As large as the device needs to be busy, and its free memory allows.
RateSizes ChooseRateSizes(const DeviceProperties& properties);

// Copies on the device, and multiplies BF16 matrices, for about half of `seconds` each: medians. An error that names
// the bytes if they do not fit.
Result<compute::DeviceRates> MeasureRates(Runtime& runtime, Stream stream, const RateSizes& sizes, double seconds);

}  // namespace inferflux::cuda
