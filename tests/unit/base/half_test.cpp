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

#if defined(__aarch64__)
using CompilersHalf = __fp16;  // GCC 12 has no _Float16 there
#else
using CompilersHalf = _Float16;
#endif

TEST(Fp16, AgreesWithTheCompilersOwnHalfType) {
  for (uint32_t step = 0; step < 2'000'003; ++step) {
    const float value = std::bit_cast<float>(step * 2147u);
    if (std::isnan(value)) continue;
    const auto expected = std::bit_cast<uint16_t>(static_cast<CompilersHalf>(value));
    ASSERT_EQ(ToFp16(value).bits, expected) << value;
  }
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(ToBf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(ToBf16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);  // a tie rounds to even
  EXPECT_EQ(ToBf16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);
  EXPECT_EQ(ToBf16(std::bit_cast<float>(0x3f808001u)).bits, 0x3f81);
  EXPECT_TRUE(std::isnan(ToFloat(ToBf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isinf(ToFloat(ToBf16(std::numeric_limits<float>::infinity()))));
}

// The format's own table (arXiv:2209.05433, table 1).
TEST(Fp8, HasTheValuesOfItsFormat) {
  EXPECT_EQ(ToFloat(Fp8{0x38}), 1.0f);
  EXPECT_EQ(ToFloat(Fp8{0x7e}), 448.0f);
  EXPECT_EQ(ToFloat(Fp8{0x08}), 0x1p-6f);           // the least normal value
  EXPECT_EQ(ToFloat(Fp8{0x07}), 0.875f * 0x1p-6f);  // the largest subnormal one
  EXPECT_EQ(ToFloat(Fp8{0x81}), -0x1p-9f);
  EXPECT_TRUE(std::isnan(ToFloat(Fp8{0x7f})) && std::isnan(ToFloat(Fp8{0xff})));
  EXPECT_EQ(ToFp8(1e9f).bits, 0x7e);
  EXPECT_EQ(ToFp8(-std::numeric_limits<float>::infinity()).bits, 0xfe);
  EXPECT_TRUE(std::isnan(ToFloat(ToFp8(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Fp8, TakesTheNearestValueAndOfTwoTheEvenOne) {
  for (uint32_t bits = 0; bits < 0x7e; ++bits) {
    const float low = ToFloat(Fp8{static_cast<uint8_t>(bits)});
    const float high = ToFloat(Fp8{static_cast<uint8_t>(bits + 1)});
    const float middle = (low + high) / 2;
    ASSERT_LT(low, high);
    EXPECT_EQ(ToFp8(low).bits, bits);
    EXPECT_EQ(ToFp8(middle).bits, bits + bits % 2);
    EXPECT_EQ(ToFp8(std::nextafter(middle, low)).bits, bits);
    EXPECT_EQ(ToFp8(std::nextafter(middle, high)).bits, bits + 1);
    EXPECT_EQ(ToFp8(-high).bits, (bits + 1) | 0x80);
  }
}

}  // namespace
}  // namespace inferflux
