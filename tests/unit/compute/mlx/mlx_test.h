// MLX and the reference with the same inputs.
#pragma once

#include <gtest/gtest.h>
#include <mlx/ops.h>

#include "compute/compare.h"
#include "compute/host/copies.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/random_data.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute::testing {

class MlxTest : public ::testing::Test {
 protected:
  Reference::Context reference;
  Mlx::Context context;
  std::mt19937 random{20260311};

  host::Buffer Random(int64_t rows, int64_t cols) { return RandomBuffer(reference.arena, random, rows, cols); }

  Mlx::View On(host::View x) {
    const std::vector<float> values = host::Read(x);
    return {mlx::core::array(values.data(), {static_cast<int>(x.rows), static_cast<int>(x.cols)})};
  }

  // |mlx - reference| / |reference|.
  double Error(const Mlx::View& actual, host::View expected) {
    const std::vector<float> values = Mlx::Read(context, actual);
    return RelativeError({values.data(), actual.rows(), actual.cols(), actual.cols()}, expected);
  }
};

}  // namespace inferflux::compute::testing
