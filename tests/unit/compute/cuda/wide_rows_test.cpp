// Row operations where rows are wider than what a thread keeps in registers, begin anywhere in memory, and have gaps
// between them, on the host executor with every access checked.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "compute/cuda/elements.h"
#include "compute/cuda/kernels/attention/attention.h"
#include "compute/cuda/kernels/narrow.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/test_device.h"

namespace inferflux::cuda {
namespace {

using testing::Must;
using testing::RandomElements;
using testing::Round;
using testing::TestDevice;

// Rows of `columns` values with `gap` values between them and `lead` before, which are no numbers.
Rows<const float> Upload(TestDevice& device, const std::vector<float>& values, int64_t rows, int64_t columns,
                         int64_t gap, int64_t lead = 0) {
  std::vector<float> spread(lead, NAN);
  for (int64_t r = 0; r < rows; ++r) {
    spread.insert(spread.end(), values.begin() + r * columns, values.begin() + (r + 1) * columns);
    spread.insert(spread.end(), gap, NAN);
  }
  return {device.Upload(spread) + lead, rows, columns, columns + gap};
}

template <class T>
void ExpectNarrowed(int64_t columns, int64_t y_columns, int64_t gap, int64_t lead, bool scaled) {
  constexpr int64_t kRows = 2;
  SCOPED_TRACE(fmt::format("{} to {} columns, gap {}, lead {}, scaled {}", columns, y_columns, gap, lead, scaled));
  std::mt19937 random(5);
  const auto x = RandomElements<float>(random, kRows * columns, 3.0f);
  TestDevice device({.seed = 3});
  T* y = device.New<T>(kRows * y_columns);
  float* scales = scaled ? device.New<float>(kRows) : nullptr;
  Must(Narrow<T>(Upload(device, x, kRows, columns, gap, lead), y_columns, y, scales, device.stream()));
  const auto narrowed = device.Download(y, kRows * y_columns);
  const auto by = scaled ? device.Download(scales, kRows) : std::vector<float>(kRows, 1.0f);
  for (int64_t r = 0; r < kRows; ++r) {
    float largest = 0.0f;
    for (int64_t c = 0; c < columns; ++c) largest = std::max(largest, std::abs(x[r * columns + c]));
    if (scaled) {
      ASSERT_GE(largest / by[r], 1.0f);
      ASSERT_LT(largest / by[r], 2.0f);
    }
    for (int64_t c = 0; c < y_columns; ++c) {
      const float value = c < columns ? x[r * columns + c] / by[r] : 0.0f;
      ASSERT_EQ(ToFloat(narrowed[r * y_columns + c]), ToFloat(Round<T>(value))) << r << ", " << c;
    }
  }
}

TEST(WideRows, AreNarrowedWhereverTheyBegin) {
  for (const bool scaled : {false, true}) {
    for (const int64_t columns : {4, 36, 4096, 16384, 16400, 20001}) {
      ExpectNarrowed<Fp16>(columns, (columns + 63) / 64 * 64, 4, 4, scaled);
      ExpectNarrowed<Bf16>(columns, columns, 3, 1, scaled);
      ExpectNarrowed<Fp16>(columns, columns, 0, 0, scaled);
    }
  }
}

TEST(WideRows, ASumsNormHasTheBitsOfBoth) {
  constexpr int64_t kRows = 2;
  for (const int64_t columns : {2048, 8192, 8193, 8200, 20000}) {
    std::mt19937 random(5);
    const auto a = RandomElements<float>(random, kRows * columns), b = RandomElements<float>(random, kRows * columns);
    const auto weights = RandomElements<float>(random, columns);
    TestDevice device({.seed = 4});
    const auto on_a = Upload(device, a, kRows, columns, 4), on_b = Upload(device, b, kRows, columns, 8);
    const float* weight = device.Upload(weights);
    const auto make = [&] { return device.New<float>(kRows * columns); };
    float *sum = make(), *y = make(), *apart = make(), *y_apart = make();
    Must(AddRmsNorm({.a = on_a, .b = on_b, .weight = weight, .epsilon = 1e-5f, .sum = sum, .y = y}, device.stream()));
    Must(Add(on_a, on_b, {apart, kRows, columns, columns}, device.stream()));
    Must(RmsNorm(
        {.x = {apart, kRows, columns, columns}, .weight = weight, .width = columns, .epsilon = 1e-5f, .y = y_apart},
        device.stream()));
    const auto normed = device.Download(y, kRows * columns);
    EXPECT_EQ(device.Download(sum, kRows * columns), device.Download(apart, kRows * columns));
    EXPECT_EQ(normed, device.Download(y_apart, kRows * columns));
    for (int64_t r = 0; r < kRows; ++r) {
      double squares = 0.0;
      for (int64_t i = r * columns; i < (r + 1) * columns; ++i) squares += std::pow(double{a[i]} + b[i], 2);
      const double root = std::sqrt(squares / static_cast<double>(columns) + 1e-5);
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t i = r * columns + c;
        ASSERT_NEAR(normed[i], (double{a[i]} + b[i]) / root * weights[c], 1e-5) << columns << ": " << r << ", " << c;
      }
    }
  }
}

template <class S>
void ExpectAppended(int32_t heads, int64_t head_dim, int64_t gap) {
  SCOPED_TRACE(fmt::format("{} heads of {}, gap {}", heads, head_dim, gap));
  const int64_t columns = heads * head_dim;
  const std::vector<int32_t> slots = {5, 0, 7};
  std::mt19937 random(9);
  const auto k = RandomElements<float>(random, 3 * columns), v = RandomElements<float>(random, 3 * columns);
  TestDevice device;
  const std::vector<S> before(8 * columns, Round<S>(7.0f));
  S *keys = device.Upload(before), *values = device.Upload(before);
  Must(AppendKv<S>(Upload(device, k, 3, columns, gap), Upload(device, v, 3, columns, gap), heads, device.Upload(slots),
                   {keys, values}, device.stream()));
  const auto expect = [&](const std::vector<S>& stored, const std::vector<float>& from) {
    for (int64_t i = 0; i < 8 * columns; ++i) {
      const auto row = std::ranges::find(slots, i / columns) - slots.begin();
      const float value = row < 3 ? from[row * columns + i % columns] : 7.0f;
      ASSERT_EQ(ToFloat(stored[i]), ToFloat(Round<S>(value))) << i;
    }
  };
  expect(device.Download(keys, 8 * columns), k);
  expect(device.Download(values, 8 * columns), v);
}

TEST(WideRows, AreAppendedToTheirSlotsAlone) {
  for (const int64_t gap : {0, 3, 4}) {
    ExpectAppended<Fp16>(8, 128, gap);
    ExpectAppended<Bf16>(3, 20, gap);
    ExpectAppended<Fp16>(1, 7, gap);
    ExpectAppended<Bf16>(2, 640, gap);
  }
}

TEST(WideRows, AreGathered) {
  std::mt19937 random(9);
  for (const int64_t columns : {1, 1024, 1028, 5000, 70001}) {
    const auto x = RandomElements<float>(random, 3 * columns);
    TestDevice device;
    float* y = device.New<float>(2 * columns);
    Must(
        GatherRows(Upload(device, x, 3, columns, 4), device.Upload(std::vector<int32_t>{2, 1}), 2, y, device.stream()));
    const auto gathered = device.Download(y, 2 * columns);
    for (int64_t i = 0; i < 2 * columns; ++i) {
      ASSERT_EQ(gathered[i], x[(2 - i / columns) * columns + i % columns]) << columns << ": " << i;
    }
  }
}

}  // namespace
}  // namespace inferflux::cuda
