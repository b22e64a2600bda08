// The CUDA backend, and the reference with the same inputs. The device is a host executor that checks every access, or
// with INFERFLUX_ON_A_GPU the machine's first GPU.
#pragma once

#include <gtest/gtest.h>

#include "compute/compare.h"
#include "compute/cuda/cuda_backend.h"
#include "compute/host/copies.h"
#include "compute/random_data.h"
#include "compute/reference/reference_backend.h"

#ifndef INFERFLUX_ON_A_GPU
#include "compute/cuda/host_runtime.h"
#endif

namespace inferflux::compute::testing {

#ifdef INFERFLUX_ON_A_GPU
inline Result<std::unique_ptr<cuda::Runtime>> OpenTestDevice() { return cuda::OpenDevice(0); }
#else
inline Result<std::unique_ptr<cuda::Runtime>> OpenTestDevice() { return cuda::HostRuntime::Open({}); }
#endif

inline std::unique_ptr<Cuda::Context> OpenContext(Result<std::unique_ptr<cuda::Runtime>> runtime = OpenTestDevice()) {
  if (!runtime) throw std::runtime_error(runtime.error().message);
  auto context = Cuda::Context::Open(std::move(*runtime));
  if (!context) throw std::runtime_error(context.error().message);
  return std::move(*context);
}

class CudaTest : public ::testing::Test {
 protected:
  Reference::Context reference;
  std::unique_ptr<Cuda::Context> owned = OpenContext();
  Cuda::Context& context = *owned;
  std::mt19937 random{20261125};

  host::Buffer Random(int64_t rows, int64_t cols) { return RandomBuffer(reference.arena, random, rows, cols); }

  Cuda::Buffer On(host::View x) {
    Cuda::Buffer out = Cuda::LoadVector(context, host::Read(x));
    out.rows = x.rows;
    out.cols = x.cols;
    return out;
  }

  // |cuda - reference| / |reference|.
  double Error(const Cuda::View& actual, host::View expected) {
    const std::vector<float> values = Cuda::Read(context, actual);
    return RelativeError({values.data(), actual.rows, actual.cols, actual.cols}, expected);
  }
};

}  // namespace inferflux::compute::testing
