#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace inferflux {
namespace {

TEST(Fp16, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const Fp16 half{static_cast<uint16_t>(bits)};
    const float wide = ToFloat(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(ToFloat(ToFp16(wide))));
    } else {
      EXPECT_EQ(ToFp16(wide).bits, half.bits) << bits;
    }
  }
}

TEST(Fp16, AgreesWithTheCompilersOwnHalfType) {
  for (uint32_t step = 0; step < 2'000'003; ++step) {
    const float value = std::bit_cast<float>(step * 2147u);
    if (std::isnan(value)) continue;
    const auto expected = std::bit_cast<uint16_t>(static_cast<_Float16>(value));
    ASSERT_EQ(ToFp16(value).bits, expected) << value;
  }
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(ToBf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(ToBf16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);  // a tie goes to the even neighbour
  EXPECT_EQ(ToBf16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);
  EXPECT_EQ(ToBf16(std::bit_cast<float>(0x3f808001u)).bits, 0x3f81);
  EXPECT_TRUE(std::isnan(ToFloat(ToBf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isinf(ToFloat(ToBf16(std::numeric_limits<float>::infinity()))));
}

}  // namespace
}  // namespace inferflux
