// The mma.sync product on the host executor, every access checked, against plain scalar code.
#include "compute/cuda/kernels/mat_mul.h"

#include "compute/cuda/elements.h"
#include "compute/cuda/test_device.h"

namespace inferflux::cuda {
namespace {

using testing::Must;
using testing::Near;
using testing::RandomElements;
using testing::TestDevice;

template <class T, class Out>
std::vector<Out> Product(const std::vector<T>& x, const std::vector<T>& w, int64_t m, int64_t n, int64_t k,
                         uint64_t seed) {
  TestDevice device({.seed = seed});
  Out* y = device.New<Out>(m * n);
  Must(MatMul<T, Out>({device.Upload(x), m, k, k}, {device.Upload(w), n, k, k}, y, device.stream()));
  return device.Download(y, m * n);
}

template <class T, class Out>
void ExpectProduct(int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(fmt::format("{} x {} x {}", m, n, k));
  std::mt19937 random(static_cast<unsigned>(m * 10007 + n * 101 + k));
  const auto x = RandomElements<T>(random, m * k);
  const auto w = RandomElements<T>(random, n * k);
  const auto y = Product<T, Out>(x, w, m, n, k, random());
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0.0, size = 0.0;
      for (int64_t i = 0; i < k; ++i) {
        const double product = double{ToFloat(x[row * k + i])} * ToFloat(w[column * k + i]);
        sum += product;
        size += std::abs(product);
      }
      // Half a step of Out, and float's roundings of the sum on the way.
      ASSERT_TRUE(Near(y[row * n + column], sum, 0.51, size * 0x1p-20 / testing::kStep<Out>))
          << "row " << row << ", column " << column << ": " << sum;
    }
  }
}

TEST(MatMul, MatchesScalarCode) {
  ExpectProduct<Bf16, float>(64, 64, 64);
  ExpectProduct<Bf16, Bf16>(1, 8, 8);
  ExpectProduct<Fp16, Fp16>(65, 129, 40);
  ExpectProduct<Fp16, float>(17, 70, 328);
}

// A row alone and among others: the same bits.
TEST(MatMul, ARowDoesNotDependOnTheOthers) {
  constexpr int64_t kRows = 70, kOutputs = 24, kInputs = 136;
  std::mt19937 random(9);
  const auto x = RandomElements<Bf16>(random, kRows * kInputs);
  const auto w = RandomElements<Bf16>(random, kOutputs * kInputs);
  const auto together = Product<Bf16, float>(x, w, kRows, kOutputs, kInputs, 1);
  for (const int64_t row : {int64_t{0}, int64_t{13}, int64_t{69}}) {
    const std::vector<Bf16> one(x.begin() + row * kInputs, x.begin() + (row + 1) * kInputs);
    const auto alone = Product<Bf16, float>(one, w, 1, kOutputs, kInputs, 2);
    for (int64_t c = 0; c < kOutputs; ++c) ASSERT_EQ(alone[c], together[row * kOutputs + c]);
  }
}

TEST(MatMul, RefusesRowsThatAreNotAligned) {
  TestDevice device;
  const auto x = device.Upload(std::vector<Bf16>(64));
  EXPECT_FALSE((MatMul<Bf16, float>({x, 1, 12, 12}, {x, 1, 12, 12}, device.New<float>(1), device.stream())));
  EXPECT_FALSE((MatMul<Bf16, float>({x + 1, 1, 8, 8}, {x, 1, 8, 8}, device.New<float>(1), device.stream())));
}

}  // namespace
}  // namespace inferflux::cuda
