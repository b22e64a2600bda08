// Row kernels on the host executor, every access checked, against plain scalar code.
#include "compute/cuda/kernels/row_ops.h"

#include <limits>

#include "compute/cuda/elements.h"
#include "compute/cuda/test_device.h"

namespace inferflux::cuda {
namespace {

using compute::Activation;
using testing::Must;
using testing::Near;
using testing::RandomElements;
using testing::TestDevice;

class RowOps : public ::testing::Test {
 protected:
  std::mt19937 random_{11};
};

// `gap` elements between rows, which nobody may use.
template <class T>
Rows<const T> UploadRows(TestDevice& device, const std::vector<T>& values, int64_t rows, int64_t columns, int64_t gap) {
  std::vector<T> spread;
  for (int64_t r = 0; r < rows; ++r) {
    spread.insert(spread.end(), values.begin() + r * columns, values.begin() + (r + 1) * columns);
    spread.insert(spread.end(), gap, testing::Round<T>(NAN));
  }
  return {device.Upload(spread), rows, columns, columns + gap};
}

void ExpectRmsNorm(std::mt19937& random, int64_t rows, int64_t columns, int64_t width, int64_t gap) {
  SCOPED_TRACE(fmt::format("{} x {} in runs of {}, gap {}", rows, columns, width, gap));
  const auto x = RandomElements<float>(random, rows * columns);
  const auto weight = RandomElements<float>(random, width);
  TestDevice device({.seed = random()});
  const RmsNormParams params{.x = UploadRows(device, x, rows, columns, gap),
                             .weight = device.Upload(weight),
                             .width = width,
                             .epsilon = 1e-5f,
                             .y = device.New<float>(rows * columns)};
  Must(RmsNorm(params, device.stream()));
  const auto y = device.Download(params.y, rows * columns);
  for (int64_t run = 0; run < rows * columns; run += width) {
    double squares = 0.0;
    for (int64_t i = 0; i < width; ++i) squares += std::pow(double{x[run + i]}, 2);
    const double inverse = 1.0 / std::sqrt(squares / width + 1e-5);
    for (int64_t i = 0; i < width; ++i) {
      ASSERT_TRUE(Near(y[run + i], x[run + i] * inverse * weight[i], 8, 0x1p-13)) << run + i;
    }
  }
}

TEST_F(RowOps, RmsNorm) {
  ExpectRmsNorm(random_, 3, 512, 512, 0);
  ExpectRmsNorm(random_, 2, 4096, 4096, 8);
  ExpectRmsNorm(random_, 2, 37, 37, 3);   // nothing is aligned
  ExpectRmsNorm(random_, 2, 256, 64, 0);  // head by head
  ExpectRmsNorm(random_, 1, 1, 1, 0);
}

// The bits of two operations: what a step computes does not depend on which it had.
void ExpectAddRmsNorm(std::mt19937& random, int64_t rows, int64_t columns, int64_t gap, int64_t shift) {
  SCOPED_TRACE(fmt::format("{} x {}, gap {}, shifted by {}", rows, columns, gap, shift));
  const auto a = RandomElements<float>(random, rows * columns), b = RandomElements<float>(random, rows * columns);
  const auto weight = RandomElements<float>(random, columns);
  TestDevice device({.seed = random()});
  Rows<const float> added = UploadRows(device, a, rows, columns, gap), other = UploadRows(device, b, rows, columns, 0);
  added.data += shift;
  if (shift > 0) added.columns = other.columns = columns - shift;
  const int64_t width = added.columns;
  const float* weights = device.Upload(weight);
  float* sum = device.New<float>(rows * width);
  float* y = device.New<float>(rows * width);
  float* expected_sum = device.New<float>(rows * width);
  float* expected = device.New<float>(rows * width);
  Must(AddRmsNorm({.a = added, .b = other, .weight = weights, .epsilon = 1e-5f, .sum = sum, .y = y}, device.stream()));
  Must(Add(added, other, {expected_sum, rows, width, width}, device.stream()));
  Must(RmsNorm(
      {.x = {expected_sum, rows, width, width}, .weight = weights, .width = width, .epsilon = 1e-5f, .y = expected},
      device.stream()));
  EXPECT_EQ(device.Download(sum, rows * width), device.Download(expected_sum, rows * width));
  EXPECT_EQ(device.Download(y, rows * width), device.Download(expected, rows * width));
}

TEST_F(RowOps, AddRmsNormHasTheBitsOfBoth) {
  ExpectAddRmsNorm(random_, 3, 512, 0, 0);
  ExpectAddRmsNorm(random_, 2, 4096, 8, 0);
  ExpectAddRmsNorm(random_, 2, 37, 3, 0);   // nothing is aligned
  ExpectAddRmsNorm(random_, 2, 516, 0, 4);  // rows with gaps
  ExpectAddRmsNorm(random_, 2, 130, 2, 2);  // rows that cannot be loaded in packs, beside ones that can
  ExpectAddRmsNorm(random_, 1, 1, 0, 0);
}

TEST_F(RowOps, LayerNorm) {
  for (const int64_t columns : {int64_t{1}, int64_t{37}, int64_t{600}}) {
    constexpr int64_t kRows = 2;
    auto x = RandomElements<float>(random_, kRows * columns);
    for (float& value : x) value += 30.0f;  // far from zero: squares alone would cancel
    const auto weight = RandomElements<float>(random_, columns), bias = RandomElements<float>(random_, columns);
    TestDevice device({.seed = random_()});
    float* y = device.New<float>(kRows * columns);
    Must(LayerNorm(UploadRows(device, x, kRows, columns, 3), device.Upload(weight), device.Upload(bias), 1e-5f, y,
                   device.stream()));
    const auto normed = device.Download(y, kRows * columns);
    for (int64_t row = 0; row < kRows; ++row) {
      const float* from = x.data() + row * columns;
      double mean = 0.0, variance = 0.0;
      for (int64_t c = 0; c < columns; ++c) mean += from[c] / static_cast<double>(columns);
      for (int64_t c = 0; c < columns; ++c) variance += std::pow(from[c] - mean, 2) / static_cast<double>(columns);
      for (int64_t c = 0; c < columns; ++c) {
        const double expected = (from[c] - mean) / std::sqrt(variance + 1e-5) * weight[c] + bias[c];
        ASSERT_NEAR(normed[row * columns + c], expected, 3e-5) << c;
      }
    }
  }
}

// A long prompt has more rows than a grid has blocks in y: the launches are allowed. A capture does not run them.
TEST(RowKernels, TakeManyRows) {
  constexpr int64_t kRows = 70000;
  TestDevice device;
  float* data = device.New<float>(kRows);
  const Rows<const float> x{data, kRows, 1, 1};
  Must(device.runtime().BeginCapture(device.stream()));
  Must(RmsNorm({.x = x, .weight = data, .width = 1, .y = data}, device.stream()));
  Must(Gate(x, x, Activation::kSilu, data, device.stream()));
  Must(Add(x, x, {data, kRows, 1, 1}, device.stream()));
  EXPECT_TRUE(device.runtime().EndCapture(device.stream()));
}

void ExpectRope(std::mt19937& random, int32_t heads, int32_t head_dim, int32_t pairs, compute::RopeStyle style) {
  constexpr int64_t kRows = 3;
  const int64_t columns = int64_t{heads} * head_dim;
  const auto x = RandomElements<float>(random, kRows * columns);
  const auto angles = RandomElements<float>(random, kRows * 2 * pairs);
  TestDevice device({.seed = random()});
  float* y = device.New<float>(kRows * columns);
  const compute::RopeParams params{.heads = heads, .head_dim = head_dim, .style = style};
  Must(Rope(UploadRows(device, x, kRows, columns, 16), device.Upload(angles), pairs, params, y, device.stream()));
  const auto rotated = device.Download(y, kRows * columns);

  for (int64_t r = 0; r < kRows; ++r) {
    for (int32_t h = 0; h < heads; ++h) {
      const int64_t first = r * columns + h * head_dim;
      std::vector<double> expected(head_dim);
      for (int32_t i = 0; i < head_dim; ++i) expected[i] = x[first + i];
      for (int32_t i = 0; i < pairs; ++i) {
        const bool halves = style == compute::RopeStyle::kHalves;
        const int32_t a = halves ? i : 2 * i;
        const int32_t b = halves ? i + pairs : 2 * i + 1;
        const double cosine = angles[r * 2 * pairs + i], sine = angles[r * 2 * pairs + pairs + i];
        const double u = expected[a], v = expected[b];
        expected[a] = u * cosine - v * sine;
        expected[b] = u * sine + v * cosine;
      }
      for (int32_t i = 0; i < head_dim; ++i) {
        ASSERT_TRUE(Near(rotated[first + i], expected[i], 1, 1.0)) << "row " << r << ", head " << h << ", " << i;
      }
    }
  }
}

TEST_F(RowOps, Rope) {
  for (const auto style : {compute::RopeStyle::kHalves, compute::RopeStyle::kInterleaved}) {
    ExpectRope(random_, 4, 64, 32, style);
    ExpectRope(random_, 3, 80, 16, style);  // 48 dimensions pass
    ExpectRope(random_, 1, 2, 1, style);
  }
}

double Activated(double x, Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kReluSquared:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kExpExcess:
      return x < 0 ? std::expm1(x) - x : 0.0;
    case Activation::kClampedSwiglu:
      return std::min(x, 7.0) / (1 + std::exp(-1.702 * std::min(x, 7.0)));
  }
  return 0;
}

TEST_F(RowOps, Gate) {
  for (const auto activation :
       {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf, Activation::kReluSquared, Activation::kSigmoid,
        Activation::kExpExcess, Activation::kClampedSwiglu}) {
    for (const int64_t columns : {int64_t{1}, int64_t{40}, int64_t{531}}) {
      constexpr int64_t kRows = 2;
      const auto gate = RandomElements<float>(random_, kRows * columns, 4.0f);
      const auto up = RandomElements<float>(random_, kRows * columns, 4.0f);
      TestDevice device({.seed = random_()});
      float* y = device.New<float>(kRows * columns);
      Must(Gate(UploadRows(device, gate, kRows, columns, 8), UploadRows(device, up, kRows, columns, 0), activation, y,
                device.stream()));
      const auto gated = device.Download(y, kRows * columns);
      for (size_t i = 0; i < gated.size(); ++i) {
        double factor = up[i];
        if (activation == Activation::kClampedSwiglu) factor = std::clamp(factor, -7.0, 7.0) + 1;
        const double expected = Activated(gate[i], activation) * factor;
        // 1 + tanh and 1 + erf may be near zero.
        const double in_float = std::abs(gate[i] * factor);
        ASSERT_TRUE(Near(gated[i], expected, 6, std::max(in_float, 0x1p-13))) << i << ": " << expected;
      }
    }
  }
}

TEST_F(RowOps, ActivationsWithoutAGate) {
  constexpr int64_t kRows = 2, kColumns = 41;
  const auto x = RandomElements<float>(random_, kRows * kColumns, 4.0f);
  TestDevice device({.seed = random_()});
  float* y = device.New<float>(x.size());
  for (const auto activation : {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf,
                                Activation::kReluSquared, Activation::kSigmoid, Activation::kExpExcess}) {
    Must(Activate(UploadRows(device, x, kRows, kColumns, 2), activation, y, device.stream()));
    const auto activated = device.Download(y, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(Near(activated[i], Activated(x[i], activation), 6, std::max(1.0, std::abs(double{x[i]})))) << i;
    }
  }
}

TEST_F(RowOps, Elementwise) {
  constexpr int64_t kRows = 3, kColumns = 300, kWidth = 310;  // y's rows have a gap
  const auto a = RandomElements<float>(random_, kRows * kColumns);
  const auto b = RandomElements<float>(random_, kRows * kColumns);
  const auto columns = RandomElements<float>(random_, kColumns), rows = RandomElements<float>(random_, kRows);
  TestDevice device({.seed = random_()});
  const auto a_rows = UploadRows(device, a, kRows, kColumns, 5), b_rows = UploadRows(device, b, kRows, kColumns, 2);
  const float* of_columns = device.Upload(columns);
  const float* of_rows = device.Upload(rows);
  const Rows<float> y{device.Upload(std::vector<float>(kRows * kWidth, 7.0f)), kRows, kColumns, kWidth};
  const auto expect = [&](Status launched, auto expected, double steps) {
    Must(launched);
    const auto result = device.Download(y.data, kRows * kWidth);
    for (int64_t i = 0; i < kRows * kWidth; ++i) {
      const int64_t r = i / kWidth, c = i % kWidth;
      const double right = c < kColumns ? double{expected(r * kColumns + c, r, c)} : 7.0;
      ASSERT_TRUE(Near(result[i], right, steps, 0.0)) << r << ", " << c << ": " << right;
    }
  };
  const Stream stream = device.stream();
  expect(
      Scale(a_rows, 1.7f, y, stream), [&](int64_t i, int64_t, int64_t) { return a[i] * 1.7f; }, 0);
  expect(
      Add(a_rows, b_rows, y, stream), [&](int64_t i, int64_t, int64_t) { return a[i] + b[i]; }, 0);
  expect(
      Multiply(a_rows, b_rows, y, stream), [&](int64_t i, int64_t, int64_t) { return a[i] * b[i]; }, 0);
  expect(
      AddBias(a_rows, of_columns, y, stream), [&](int64_t i, int64_t, int64_t c) { return a[i] + columns[c]; }, 0);
  expect(
      ScaleColumns(a_rows, of_columns, y, stream), [&](int64_t i, int64_t, int64_t c) { return a[i] * columns[c]; }, 0);
  expect(
      ScaleRows(a_rows, of_rows, y, stream), [&](int64_t i, int64_t r, int64_t) { return a[i] * rows[r]; }, 0);
  expect(
      SoftCap(a_rows, 1.3f, y, stream),
      [&](int64_t i, int64_t, int64_t) { return 1.3 * std::tanh(double{a[i]} / 1.3f); }, 4);
  expect(
      GateRows(a_rows, of_rows, 1, y, stream),
      [&](int64_t i, int64_t r, int64_t) { return a[i] / (1.0 + std::exp(-double{rows[r]})); }, 4);
}

TEST(RopeAngles, AreCosinesAndSines) {
  const std::vector<int32_t> positions = {0, 1, 777, 131071};
  std::vector<float> frequencies;
  for (int i = 0; i < 80; ++i) frequencies.push_back(std::pow(10000.0f, -static_cast<float>(i) / 80));
  TestDevice device;
  float* angles = device.New<float>(4 * 160);
  Must(RopeAngles(device.Upload(positions), 4, device.Upload(frequencies), 80, 1.25f, angles, device.stream()));
  const auto values = device.Download(angles, 4 * 160);
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 80; ++i) {
      const float angle = static_cast<float>(positions[row]) * frequencies[i];  // rounded, as the reference rounds it
      ASSERT_NEAR(values[row * 160 + i], 1.25 * std::cos(double{angle}), 3e-7);
      ASSERT_NEAR(values[row * 160 + 80 + i], 1.25 * std::sin(double{angle}), 3e-7);
    }
  }
}

TEST_F(RowOps, GatherRowsAndColumns) {
  for (const int64_t columns : {int64_t{5}, int64_t{64}}) {
    const auto x = RandomElements<float>(random_, 10 * columns);
    const std::vector<int32_t> rows = {9, 0, 3, 3}, order = {4, 0, 2};
    TestDevice device({.seed = random_()});
    const auto from = UploadRows(device, x, 10, columns, 0);
    float* y = device.New<float>(10 * columns);
    Must(GatherRows(from, device.Upload(rows), 4, y, device.stream()));
    const auto gathered = device.Download(y, 4 * columns);
    for (int64_t i = 0; i < 4 * columns; ++i) ASSERT_EQ(gathered[i], x[rows[i / columns] * columns + i % columns]);
    Must(GatherColumns(from, device.Upload(order), 3, y, device.stream()));
    const auto ordered = device.Download(y, 10 * 3);
    for (int64_t i = 0; i < 10 * 3; ++i) ASSERT_EQ(ordered[i], x[i / 3 * columns + order[i % 3]]);
  }
}

std::vector<int32_t> Greedy(const std::vector<float>& logits, int64_t rows) {
  const auto columns = static_cast<int64_t>(logits.size()) / rows;
  TestDevice device;
  int32_t* tokens = device.New<int32_t>(rows);
  Must(GreedyTokens(UploadRows(device, logits, rows, columns, 1), tokens, device.stream()));
  return device.Download(tokens, rows);
}

TEST(GreedyTokens, TakesTheLargest) {
  std::mt19937 random(3);
  const auto logits = RandomElements<float>(random, 4 * 3001);
  std::vector<int32_t> expected;
  for (int row = 0; row < 4; ++row) {
    const auto first = logits.begin() + row * 3001;
    expected.push_back(static_cast<int32_t>(std::max_element(first, first + 3001) - first));
  }
  EXPECT_EQ(Greedy(logits, 4), expected);
}

TEST(GreedyTokens, TakesTheFirstOfEqualsAndNeverANan) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Greedy({-3, -1, -2, -1}, 1)[0], 1);
  EXPECT_EQ(Greedy({-0.0f, 0.0f}, 1)[0], 0);
  EXPECT_EQ(Greedy({nan, -5, nan, -4}, 1)[0], 3);
  EXPECT_EQ(Greedy({-nan, nan}, 1)[0], 0);
  EXPECT_EQ(Greedy({-infinity, infinity}, 1)[0], 1);
  EXPECT_EQ(Greedy({nan, -infinity}, 1)[0], 1);
  std::vector<float> many(1000, 1.0f);
  many[17] = many[600] = 2.0f;
  EXPECT_EQ(Greedy(many, 1)[0], 17);
}

}  // namespace
}  // namespace inferflux::cuda
