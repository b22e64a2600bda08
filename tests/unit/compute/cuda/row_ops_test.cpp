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

template <class T>
class RowOps : public ::testing::Test {
 protected:
  std::mt19937 random_{11};
};
using Types = ::testing::Types<float, Fp16, Bf16>;
TYPED_TEST_SUITE(RowOps, Types);

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

template <class T>
void ExpectRmsNorm(std::mt19937& random, int64_t rows, int64_t columns, int64_t width, int64_t gap, bool residual) {
  SCOPED_TRACE(fmt::format("{} x {} in runs of {}, gap {}, residual {}", rows, columns, width, gap, residual));
  const auto x = RandomElements<T>(random, rows * columns);
  const auto more = RandomElements<T>(random, rows * columns);
  const auto weight = RandomElements<float>(random, width);
  TestDevice device({.seed = random()});
  RmsNormParams<T> params{.x = UploadRows(device, x, rows, columns, gap),
                          .weight = device.Upload(weight),
                          .width = width,
                          .epsilon = 1e-5f,
                          .y = device.New<T>(rows * columns)};
  if (residual) {
    params.residual = device.Upload(more);
    params.sum = device.New<T>(rows * columns);
  }
  Must(RmsNorm(params, device.stream()));
  const auto y = device.Download(params.y, rows * columns);
  auto sum = x;
  if (residual) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = testing::Round<T>(ToFloat(x[i]) + ToFloat(more[i]));
    const auto stored = device.Download(params.sum, rows * columns);
    for (size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(ToFloat(stored[i]), ToFloat(sum[i])) << i;
  }
  for (int64_t run = 0; run < rows * columns; run += width) {
    double squares = 0.0;
    for (int64_t i = 0; i < width; ++i) squares += std::pow(double{ToFloat(sum[run + i])}, 2);
    const double inverse = 1.0 / std::sqrt(squares / width + 1e-5);
    for (int64_t i = 0; i < width; ++i) {
      const double expected = ToFloat(sum[run + i]) * inverse * weight[i];
      ASSERT_TRUE(Near(y[run + i], expected, std::is_same_v<T, float> ? 8 : 0.51, 0x1p-13)) << run + i;
    }
  }
}

TYPED_TEST(RowOps, RmsNorm) {
  for (const bool residual : {false, true}) {
    ExpectRmsNorm<TypeParam>(this->random_, 3, 512, 512, 0, residual);
    ExpectRmsNorm<TypeParam>(this->random_, 2, 4096, 4096, 8, residual);
    ExpectRmsNorm<TypeParam>(this->random_, 2, 37, 37, 3, residual);   // nothing is aligned
    ExpectRmsNorm<TypeParam>(this->random_, 2, 256, 64, 0, residual);  // head by head
    ExpectRmsNorm<TypeParam>(this->random_, 1, 1, 1, 0, residual);
  }
}

// A long prompt has more rows than a grid has blocks in y: the launches are allowed. A capture does not run them.
TEST(RowKernels, TakeManyRows) {
  constexpr int64_t kRows = 70000;
  TestDevice device;
  float* data = device.New<float>(kRows);
  const Rows<const float> x{data, kRows, 1, 1};
  Must(device.runtime().BeginCapture(device.stream()));
  Must(RmsNorm<float>({.x = x, .weight = data, .width = 1, .y = data}, device.stream()));
  Must(Gate<float>(x, x, Activation::kSilu, data, device.stream()));
  Must(Add<float>(x, x, data, device.stream()));
  EXPECT_TRUE(device.runtime().EndCapture(device.stream()));
}

template <class T>
void ExpectRope(std::mt19937& random, int32_t heads, int32_t head_dim, int32_t pairs, compute::RopeStyle style) {
  constexpr int64_t kRows = 3;
  const int64_t columns = int64_t{heads} * head_dim;
  const auto x = RandomElements<T>(random, kRows * columns);
  const auto angles = RandomElements<float>(random, kRows * 2 * pairs);
  TestDevice device({.seed = random()});
  T* y = device.New<T>(kRows * columns);
  const compute::RopeParams params{.heads = heads, .head_dim = head_dim, .style = style};
  Must(Rope(UploadRows(device, x, kRows, columns, 16), device.Upload(angles), pairs, params, y, device.stream()));
  const auto rotated = device.Download(y, kRows * columns);

  for (int64_t r = 0; r < kRows; ++r) {
    for (int32_t h = 0; h < heads; ++h) {
      const int64_t first = r * columns + h * head_dim;
      std::vector<double> expected(head_dim);
      for (int32_t i = 0; i < head_dim; ++i) expected[i] = ToFloat(x[first + i]);
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

TYPED_TEST(RowOps, Rope) {
  for (const auto style : {compute::RopeStyle::kHalves, compute::RopeStyle::kInterleaved}) {
    ExpectRope<TypeParam>(this->random_, 4, 64, 32, style);
    ExpectRope<TypeParam>(this->random_, 3, 80, 16, style);  // 48 dimensions pass
    ExpectRope<TypeParam>(this->random_, 1, 2, 1, style);
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
    case Activation::kClampedSwiglu:
      return std::min(x, 7.0) / (1 + std::exp(-1.702 * std::min(x, 7.0)));
  }
  return 0;
}

TYPED_TEST(RowOps, Gate) {
  using T = TypeParam;
  for (const auto activation : {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf,
                                Activation::kReluSquared, Activation::kSigmoid, Activation::kClampedSwiglu}) {
    for (const int64_t columns : {int64_t{1}, int64_t{40}, int64_t{531}}) {
      constexpr int64_t kRows = 2;
      const auto gate = RandomElements<T>(this->random_, kRows * columns, 4.0f);
      const auto up = RandomElements<T>(this->random_, kRows * columns, 4.0f);
      TestDevice device({.seed = this->random_()});
      T* y = device.New<T>(kRows * columns);
      Must(Gate(UploadRows(device, gate, kRows, columns, 8), UploadRows(device, up, kRows, columns, 0), activation, y,
                device.stream()));
      const auto gated = device.Download(y, kRows * columns);
      for (size_t i = 0; i < gated.size(); ++i) {
        double factor = ToFloat(up[i]);
        if (activation == Activation::kClampedSwiglu) factor = std::clamp(factor, -7.0, 7.0) + 1;
        const double expected = Activated(ToFloat(gate[i]), activation) * factor;
        // Half a step of T; and float's in 1 + tanh and 1 + erf, which may be near zero.
        const double in_float = std::abs(ToFloat(gate[i]) * factor) * testing::kStep<float> / testing::kStep<T>;
        ASSERT_TRUE(Near(gated[i], expected, std::is_same_v<T, float> ? 6 : 1, std::max(in_float, 0x1p-13)))
            << i << ": " << expected;
      }
    }
  }
}

TYPED_TEST(RowOps, Elementwise) {
  using T = TypeParam;
  constexpr int64_t kRows = 3, kColumns = 300;
  const auto a = RandomElements<T>(this->random_, kRows * kColumns);
  const auto b = RandomElements<T>(this->random_, kRows * kColumns);
  const auto bias = RandomElements<float>(this->random_, kColumns);
  TestDevice device({.seed = this->random_()});
  const auto a_rows = UploadRows(device, a, kRows, kColumns, 5);
  T* y = device.New<T>(a.size());
  Must(Scale(a_rows, 1.7f, y, device.stream()));
  auto result = device.Download(y, a.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(ToFloat(result[i]), ToFloat(testing::Round<T>(ToFloat(a[i]) * 1.7f)));
  Must(Add(a_rows, UploadRows(device, b, kRows, kColumns, 2), y, device.stream()));
  result = device.Download(y, a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(ToFloat(result[i]), ToFloat(testing::Round<T>(ToFloat(a[i]) + ToFloat(b[i]))));
  }
  Must(AddBias(a_rows, device.Upload(bias), y, device.stream()));
  result = device.Download(y, a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(ToFloat(result[i]), ToFloat(testing::Round<T>(ToFloat(a[i]) + bias[i % kColumns])));
  }
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

TYPED_TEST(RowOps, Embed) {
  using T = TypeParam;
  for (const int64_t columns : {int64_t{5}, int64_t{64}}) {
    const auto table = RandomElements<T>(this->random_, 10 * columns);
    const std::vector<int32_t> tokens = {9, 0, 3, 3};
    TestDevice device;
    T* y = device.New<T>(tokens.size() * columns);
    Must(Embed(UploadRows(device, table, 10, columns, 0), device.Upload(tokens), 4, y, device.stream()));
    const auto rows = device.Download(y, tokens.size() * columns);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(ToFloat(rows[i]), ToFloat(table[tokens[i / columns] * columns + i % columns]));
    }
  }
}

TEST(Embed, ATokenBeyondTheTableIsAFault) {
  TestDevice device;
  const Rows<const float> table{device.Upload(std::vector<float>(40, 1.0f)), 10, 4, 4};
  Must(Embed(table, device.Upload<int32_t>({10}), 1, device.New<float>(4), device.stream()));
  const Status done = device.runtime().Synchronize(device.stream());
  if (!device.runtime().fault()) GTEST_SKIP() << "the kernels of this build are not checked";
  EXPECT_FALSE(done);
  EXPECT_TRUE(device.runtime().fault()->rule == executor::Rule::kOutOfBounds);
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
