// Which products the runtimes accept: the rules of cuBLASLt's documentation, each with its message.
#include <gtest/gtest.h>

#include "compute/cuda/runtime.h"

namespace inferflux::cuda {
namespace {

struct ProductRules : ::testing::Test {
  template <class F>
  std::string With(F change) {
    MatMulParams p = right;
    change(p);
    const Status checked = CheckMatMul(p);
    return checked ? "right" : checked.error().message;
  }
  void MakeFp8() {
    right.a_type = right.b_type = ElementType::kFp8;
    right.transpose_a = true;
    right.m = right.n = right.k = right.lda = right.ldb = right.ldd = 32;
  }

  alignas(16) char memory[64] = {};
  // A: 4 x 6, B: 6 x 5, D: 4 x 5
  MatMulParams right{
      .m = 4, .n = 5, .k = 6, .a = memory, .b = memory + 16, .d = memory + 32, .lda = 4, .ldb = 6, .ldd = 4};
};

TEST_F(ProductRules, SizesAndLeadingDimensions) {
  EXPECT_EQ(With([](auto&) {}), "right");
  EXPECT_EQ(With([](auto& p) { p.m = 0; }), "a product of 0 x 6 and 6 x 5");
  EXPECT_EQ(With([](auto& p) { p.n = 0; }), "a product of 4 x 6 and 6 x 0");
  EXPECT_EQ(With([](auto& p) { p.k = 0; }), "a product of 4 x 0 and 0 x 5");
  EXPECT_EQ(With([](auto& p) { p.m = p.n = p.k = p.lda = p.ldb = p.ldd = 1; }), "right");
  EXPECT_EQ(With([](auto& p) { p.lda = 3; }), "A's leading dimension is 3, below its 4 rows");
  EXPECT_EQ(With([](auto& p) { p.ldb = 5; }), "B's leading dimension is 5, below its 6 rows");
  EXPECT_EQ(With([](auto& p) { p.ldd = 3; }), "D's leading dimension is 3, below its 4 rows");
  EXPECT_EQ(With([](auto& p) { p.transpose_a = true; }), "A's leading dimension is 4, below its 6 rows");
  EXPECT_EQ(With([](auto& p) { p.transpose_b = true, p.ldb = 5; }), "right");
  EXPECT_EQ(With([](auto& p) { p.transpose_b = true, p.ldb = 4; }), "B's leading dimension is 4, below its 5 rows");
}

TEST_F(ProductRules, PointersAreAligned) {
  const auto refused = [](const std::string& said, const std::string& name) {
    return said.starts_with(name + " at ") && said.ends_with(" is not a multiple of 16");
  };
  EXPECT_TRUE(refused(With([this](auto& p) { p.a = memory + 8; }), "A"));
  EXPECT_TRUE(refused(With([this](auto& p) { p.b = memory + 1; }), "B"));
  EXPECT_TRUE(refused(With([this](auto& p) { p.d = memory + 15; }), "D"));
  EXPECT_TRUE(refused(With([](auto& p) { p.a = nullptr; }), "A"));
}

TEST_F(ProductRules, Types) {
  const float scale = 1;
  EXPECT_EQ(With([](auto& p) { p.b_type = ElementType::kF32; }), "a product of two different types");
  EXPECT_EQ(With([](auto& p) { p.d_type = ElementType::kF32; }), "right");
  EXPECT_EQ(With([](auto& p) { p.a_type = p.b_type = ElementType::kF32; }),
            "D in another type than A's and than float");
  EXPECT_EQ(With([](auto& p) { p.d_type = ElementType::kFp8; }), "D in FP8");
  EXPECT_EQ(With([&](auto& p) { p.scale_a = &scale; }), "scales of A and B are for FP8");
  EXPECT_EQ(With([&](auto& p) { p.scale_b = &scale; }), "scales of A and B are for FP8");
}

TEST_F(ProductRules, Fp8) {
  MakeFp8();
  const float scale = 1;
  EXPECT_EQ(With([&](auto& p) { p.scale_a = p.scale_b = &scale; }), "right");
  EXPECT_EQ(With([](auto& p) { p.transpose_a = false; }), "FP8 other than op(A) = T, op(B) = N");
  EXPECT_EQ(With([](auto& p) { p.transpose_b = true; }), "FP8 other than op(A) = T, op(B) = N");
  EXPECT_EQ(With([](auto& p) { p.m = 31; }), "an FP8 product of 31 x 32 x 32; each has to be a multiple of 16");
  EXPECT_EQ(With([](auto& p) { p.n = 31; }), "an FP8 product of 32 x 31 x 32; each has to be a multiple of 16");
  EXPECT_EQ(With([](auto& p) { p.k = 31; }), "an FP8 product of 32 x 32 x 31; each has to be a multiple of 16");
  EXPECT_EQ(With([](auto& p) { p.lda = 33; }), "an FP8 product of 32 x 32 x 32; each has to be a multiple of 16");
  EXPECT_EQ(With([](auto& p) { p.ldb = 33; }), "an FP8 product of 32 x 32 x 32; each has to be a multiple of 16");
  EXPECT_EQ(With([](auto& p) { p.ldd = 33; }), "right");
}

TEST(DriverRules, TheMajorVersionDecides) {
  EXPECT_TRUE(CheckDriver(13000, 13099));
  EXPECT_EQ(CheckDriver(-1, 12085).error().message, "there is no NVIDIA driver here; CUDA 12.8 needs one");
  EXPECT_EQ(CheckDriver(1, 13000).error().message,
            "NVIDIA's driver supports CUDA up to 0.0, and this build needs 13.0: install a newer driver");
}

}  // namespace
}  // namespace inferflux::cuda
