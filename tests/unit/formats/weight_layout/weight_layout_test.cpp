#include "formats/weight_layout/weight_layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace inferflux::formats {
namespace {

// The sizes that a plan uses before the numbers are read equal the sizes afterwards.
TEST(WeightLayout, SizesAreKnownBeforeTheNumbersAreThere) {
  const std::vector<std::byte> numbers(1 << 16);
  const std::span<const std::byte> all(numbers);
  for (const int32_t bits : {2, 3, 4, 6, 8}) {
    for (const TensorType scales : {TensorType::kBf16, TensorType::kF32}) {
      const size_t scale_bytes = 6 * (128 / 32) * (scales == TensorType::kF32 ? 4 : 2);
      const AffineLayout layout{.bits = bits,
                                .group = 32,
                                .scale_type = scales,
                                .words = all.first(static_cast<size_t>(6 * 128 * bits / 8)),
                                .scales = all.first(scale_bytes),
                                .biases = all.first(scale_bytes)};
      ASSERT_TRUE(Fits(layout, 6, 128));
      EXPECT_EQ(StoredBytes(layout, 6, 128), static_cast<int64_t>(StoredBytes(WeightLayout(layout)))) << bits;
    }
  }
  struct {
    int64_t block_outputs, block_inputs;
    size_t scales;
  } const blocks[] = {{128, 128, 2 * 3}, {1, 300, 200}, {200, 300, 1}};
  for (const auto& block : blocks) {
    const std::vector<float> some(block.scales);
    const Fp8Layout layout{.block_outputs = block.block_outputs,
                           .block_inputs = block.block_inputs,
                           .values = all.first(200 * 300),
                           .scales = some};
    ASSERT_TRUE(Fits(layout, 200, 300)) << block.scales;
    EXPECT_EQ(StoredBytes(layout, 200, 300), static_cast<int64_t>(StoredBytes(WeightLayout(layout)))) << block.scales;
  }
}

}  // namespace
}  // namespace inferflux::formats
