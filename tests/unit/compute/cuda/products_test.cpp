// Products with weights of every stored type on the host executor, every access checked, against plain scalar code.
#include "compute/cuda/kernels/products/products.h"

#include <cmath>
#include <limits>

#include "compute/cuda/elements.h"
#include "compute/cuda/kernels/narrow.h"
#include "compute/cuda/kernels/products/weight_rows.h"
#include "compute/cuda/test_device.h"
#include "compute/random_data.h"
#include "formats/quant/dequantize.h"

namespace inferflux::cuda {
namespace {

using compute::testing::OwnedMatrix;
using compute::testing::RandomMatrix;
using formats::TensorType;
using testing::Must;
using testing::RandomElements;
using testing::TestDevice;

constexpr TensorType kDense[] = {TensorType::kF32, TensorType::kF16, TensorType::kBf16};
constexpr TensorType kSmallBlocks[] = {TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kMxfp4, TensorType::kNvfp4};
constexpr TensorType kSuperBlocks[] = {TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K};

// Random weights: on a device, and as the floats that formats/ decodes.
struct Weights {
  Weights(TestDevice& device, std::mt19937& random, TensorType type, int64_t rows, int64_t columns) {
    const OwnedMatrix owned = RandomMatrix(type, random, rows, columns);
    values.resize(rows * columns);
    const auto file_row = static_cast<int64_t>(owned.bytes.size()) / rows;
    for (int64_t r = 0; r < rows; ++r) {
      formats::DequantizeRow(type, owned.bytes.data() + r * file_row, values.data() + r * columns, columns);
    }
    EXPECT_TRUE(WithWeightRows(type, [&]<class R>() {
      const int64_t row_bytes = R::RowBytes(columns);
      std::vector<std::byte> stored(static_cast<size_t>(rows * row_bytes));
      for (int64_t r = 0; r < rows; ++r)
        R::Store(owned.bytes.data() + r * file_row, columns, stored.data() + r * row_bytes);
      matrix = {type, reinterpret_cast<const uint8_t*>(device.Upload(stored)), rows, columns, row_bytes};
    }));
  }

  WeightMatrix matrix;
  std::vector<float> values;
};

// y is x * w^T: as near as `bound` of the sum of absolute products.
void ExpectProduct(const std::vector<float>& y, const std::vector<float>& x, const std::vector<float>& w, int64_t m,
                   int64_t n, int64_t k, const std::string& what, double bound = 0x1p-20) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0.0, size = 0.0;
      for (int64_t i = 0; i < k; ++i) {
        const double product = double{x[row * k + i]} * w[column * k + i];
        sum += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(y[row * n + column], sum, size * bound) << what << ", row " << row << ", column " << column;
    }
  }
}

void ExpectFewRows(TensorType type, int64_t m, int64_t n, int64_t k, double bound = 0x1p-20) {
  std::mt19937 random(static_cast<unsigned>(m * 10007 + n * 101 + k));
  TestDevice device({.seed = random()});
  const Weights w(device, random, type, n, k);
  const auto x = RandomElements<float>(random, m * k);
  float* y = device.New<float>(m * n);
  Must(MultiplyFewRows({device.Upload(x), m, k, k}, w.matrix, {y, m, n, n}, device.stream()));
  ExpectProduct(device.Download(y, m * n), x, w.values, m, n, k, std::string(formats::TensorTypeName(type)), bound);
}

TEST(FewRows, MatchScalarCodeForEveryType) {
  for (const TensorType type : kDense) {
    ExpectFewRows(type, 1, 6, 40);  // not whole groups
    ExpectFewRows(type, 7, 5, 1040);
  }
  for (const TensorType type : kSmallBlocks) ExpectFewRows(type, 5, 6, 192);
  for (const TensorType type : kSuperBlocks) ExpectFewRows(type, 5, 6, 768);
}

// One row has a kernel of its own; with blocks of weights its inputs are integers of 16 bits.
TEST(OneRow, MatchesScalarCode) {
  constexpr double kBound = 0x1p-16;
  for (const TensorType type : kSuperBlocks) ExpectFewRows(type, 1, 7, 1280, kBound);
  ExpectFewRows(TensorType::kQ6_K, 1, 6, 16384, kBound);
  ExpectFewRows(TensorType::kQ4_K, 1, 3, 28672, kBound);
  ExpectFewRows(TensorType::kQ4_K, 1, 3, 28672 + 1024);  // inputs that do not fit into a block's memory: in float
  constexpr int64_t kOutputsOfGrid = 396 * 16;
  ExpectFewRows(TensorType::kQ4_K, 1, 2 * kOutputsOfGrid + 5, 256, kBound);  // warps that walk several outputs
  for (const TensorType type : {TensorType::kF16, TensorType::kBf16}) {
    ExpectFewRows(type, 1, 7, 2 * 1040);
    ExpectFewRows(type, 1, kOutputsOfGrid + 1, 24);
  }
}

// Line by line with the weights of its expert, from the row that it belongs to.
TEST(FewRows, LinesTakeTheirExperts) {
  constexpr int64_t kOutputs = 5, kInputs = 64, kExperts = 3;
  std::mt19937 random(5);
  TestDevice device;
  const Weights all(device, random, TensorType::kQ8_0, kExperts * kOutputs, kInputs);
  WeightMatrix of_one = all.matrix;
  of_one.rows = kOutputs;
  const auto x = RandomElements<float>(random, 2 * kInputs);
  const std::vector<int32_t> experts = {2, 0, 1, 2};
  float* y = device.New<float>(4 * kOutputs);
  Must(MultiplyLines({device.Upload(x), 2, kInputs, kInputs}, 2, device.Upload(experts), of_one,
                     {y, 4, kOutputs, kOutputs}, device.stream()));
  const auto lines = device.Download(y, 4 * kOutputs);
  for (int64_t line = 0; line < 4; ++line) {
    const auto first = all.values.begin() + experts[line] * kOutputs * kInputs;
    ExpectProduct({lines.begin() + line * kOutputs, lines.begin() + (line + 1) * kOutputs},
                  {x.begin() + line / 2 * kInputs, x.begin() + (line / 2 + 1) * kInputs},
                  {first, first + kOutputs * kInputs}, 1, kOutputs, kInputs, fmt::format("line {}", line));
  }
}

// Which kernel multiplies by tensor cores.
enum class Kernel { kTiles, kThin };

// What is no number, or infinite, spoils the results that it is part of, as in float.
TEST(OneRow, BrokenInputsAreNotHidden) {
  constexpr int64_t kColumns = 512;
  std::mt19937 random(3);
  TestDevice device;
  const Weights w(device, random, TensorType::kQ4_K, 5, kColumns);
  for (const float broken :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f, 0.0f}) {
    auto x = RandomElements<float>(random, kColumns);
    x[300] = broken;
    float* y = device.New<float>(5);
    Must(MultiplyFewRows({device.Upload(x), 1, kColumns, kColumns}, w.matrix, {y, 1, 5, 5}, device.stream()));
    for (const float value : device.Download(y, 5)) EXPECT_EQ(std::isfinite(value), std::isfinite(broken)) << broken;
  }
}

// T: what tensor cores multiply.
template <class T>
std::vector<float> Tiles(TestDevice& device, const Weights& w, const std::vector<T>& x, int64_t m,
                         const std::vector<float>& row_scales = {}, Kernel kernel = Kernel::kTiles) {
  const int64_t n = w.matrix.rows;
  const auto stride = RoundUp(w.matrix.columns, kGroup);
  std::vector<T> padded(m * stride);
  for (int64_t r = 0; r < m; ++r) {
    std::copy_n(x.begin() + r * w.matrix.columns, w.matrix.columns, padded.begin() + r * stride);
  }
  float* y = device.New<float>(m * n);
  const Rows<const T> on_device{device.Upload(padded), m, stride, stride};
  const float* scales = row_scales.empty() ? nullptr : device.Upload(row_scales);
  if (kernel == Kernel::kThin) {
    Must(MultiplyThin(on_device, scales, w.matrix, {y, m, n, n}, device.stream()));
  } else {
    Must(MultiplyHeads(on_device, scales, {}, w.matrix, {y, m, n, n}, device.stream()));
  }
  return device.Download(y, m * n);
}

template <class T>
void ExpectTiles(TensorType type, int64_t m, int64_t n, int64_t k, Kernel kernel = Kernel::kTiles) {
  std::mt19937 random(static_cast<unsigned>(m * 10007 + n * 101 + k));
  TestDevice device({.seed = random()});
  const Weights w(device, random, type, n, k);
  const auto x = RandomElements<T>(random, m * k);
  std::vector<float> floats, rounded;
  for (const T value : x) floats.push_back(ToFloat(value));
  for (const float value : w.values) rounded.push_back(ToFloat(testing::Round<T>(value)));
  ExpectProduct(Tiles(device, w, x, m, {}, kernel), floats, rounded, m, n, k,
                std::string(formats::TensorTypeName(type)));
}

TEST(Tiles, MatchScalarCodeForEveryType) {
  ExpectTiles<Bf16>(TensorType::kBf16, 64, 64, 64);
  ExpectTiles<Bf16>(TensorType::kBf16, 1, 8, 8);
  ExpectTiles<Fp16>(TensorType::kF16, 65, 129, 40);
  ExpectTiles<Fp16>(TensorType::kF16, 17, 70, 328);
  ExpectTiles<Bf16>(TensorType::kMxfp4, 5, 70, 96);
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kNvfp4}) {
    ExpectTiles<Fp16>(type, 5, 70, 192);
  }
  for (const TensorType type : kSuperBlocks) ExpectTiles<Fp16>(type, 5, 66, 256);
}

// A row alone and among others: the same bits.
void ExpectRowsAlone(Kernel kernel, TensorType type, int64_t rows, int64_t inputs) {
  constexpr int64_t kOutputs = 24;
  std::mt19937 random(9);
  TestDevice device;
  const Weights w(device, random, type, kOutputs, inputs);
  const auto x = RandomElements<Fp16>(random, rows * inputs);
  const auto together = Tiles<Fp16>(device, w, x, rows, {}, kernel);
  for (const int64_t row : {int64_t{0}, int64_t{13}, rows - 1}) {
    const auto alone =
        Tiles<Fp16>(device, w, {x.begin() + row * inputs, x.begin() + (row + 1) * inputs}, 1, {}, kernel);
    for (int64_t c = 0; c < kOutputs; ++c) ASSERT_EQ(alone[c], together[row * kOutputs + c]);
  }
}

void ExpectScaledRows(Kernel kernel, TensorType type) {
  std::mt19937 random(4);
  TestDevice device;
  const Weights w(device, random, type, 5, 32);
  const auto x = RandomElements<Fp16>(random, 3 * 32);
  const auto plain = Tiles<Fp16>(device, w, x, 3, {}, kernel);
  const auto scaled = Tiles<Fp16>(device, w, x, 3, {1.0f, 4.0f, 0.5f}, kernel);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(scaled[i], plain[i] * (i < 5 ? 1.0f : i < 10 ? 4.0f : 0.5f)) << i;
}

TEST(Tiles, ARowDoesNotDependOnTheOthers) { ExpectRowsAlone(Kernel::kTiles, TensorType::kQ8_0, 70, 160); }

TEST(Tiles, MultiplyRowsByTheirScales) { ExpectScaledRows(Kernel::kTiles, TensorType::kF16); }

TEST(Tiles, RefuseWhatTheyCannotRead) {
  std::mt19937 random(4);
  TestDevice device;
  const Weights w(device, random, TensorType::kF16, 5, 40), floats(device, random, TensorType::kF32, 5, 48);
  const auto* x = device.Upload(std::vector<Fp16>(64));
  const auto* y = device.Upload(std::vector<Bf16>(64));
  const Rows<float> to{device.New<float>(5), 1, 5, 5};
  EXPECT_FALSE(MultiplyHeads(Rows<const Fp16>{x, 1, 40, 40}, nullptr, {}, w.matrix, to, device.stream()));
  EXPECT_FALSE(MultiplyHeads(Rows<const Fp16>{x + 1, 1, 48, 48}, nullptr, {}, w.matrix, to, device.stream()));
  EXPECT_FALSE(MultiplyHeads(Rows<const Bf16>{y, 1, 48, 48}, nullptr, {}, w.matrix, to, device.stream()));
  EXPECT_FALSE(MultiplyHeads(Rows<const Fp16>{x, 1, 48, 48}, nullptr, {}, floats.matrix, to, device.stream()));
  WeightMatrix other = w.matrix;
  other.type = TensorType::kIq2Xs;
  EXPECT_FALSE(MultiplyFewRows(Rows<const float>{nullptr, 1, 40, 40}, other, to, device.stream()));
}

TEST(ThinRows, MatchScalarCodeForEveryType) {
  for (const int64_t rows : {1, 8, 9, 17, 32}) ExpectTiles<Fp16>(TensorType::kQ4_K, rows, 18, 1280, Kernel::kThin);
  for (const TensorType type : kSuperBlocks) ExpectTiles<Fp16>(type, 3, 34, 256, Kernel::kThin);
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kNvfp4}) {
    ExpectTiles<Fp16>(type, 5, 17, 192, Kernel::kThin);
  }
  ExpectTiles<Bf16>(TensorType::kMxfp4, 17, 7, 96, Kernel::kThin);
}

TEST(ThinRows, ARowDoesNotDependOnTheOthers) { ExpectRowsAlone(Kernel::kThin, TensorType::kQ6_K, 32, 1280); }

TEST(ThinRows, MultiplyRowsByTheirScales) { ExpectScaledRows(Kernel::kThin, TensorType::kQ8_0); }

TEST(ThinRows, RefuseWhatTheyCannotRead) {
  std::mt19937 random(4);
  TestDevice device;
  const Weights w(device, random, TensorType::kQ8_0, 5, 32), dense(device, random, TensorType::kF16, 5, 32);
  const auto* x = device.Upload(std::vector<Fp16>(65 * 32));
  const auto* y = device.Upload(std::vector<Bf16>(64));
  const Rows<float> to{device.New<float>(65 * 5), 65, 5, 5};
  const auto thin = [&](const auto& from, const Weights& by) {
    return MultiplyThin(from, nullptr, by.matrix, {to.data, from.rows, 5, 5}, device.stream());
  };
  EXPECT_TRUE(thin(Rows<const Fp16>{x, 32, 32, 32}, w));
  EXPECT_FALSE(thin(Rows<const Fp16>{x, 33, 32, 32}, w));
  EXPECT_FALSE(thin(Rows<const Fp16>{x, 1, 48, 48}, w));
  EXPECT_FALSE(thin(Rows<const Fp16>{x + 1, 1, 32, 32}, w));
  EXPECT_FALSE(thin(Rows<const Bf16>{y, 1, 32, 32}, w));
  EXPECT_FALSE(thin(Rows<const Fp16>{x, 1, 32, 32}, dense));
}

// What formats/ decodes, rounded once; zeros beyond the columns.
template <class T>
void ExpectUnpacked(TensorType type, int64_t columns) {
  constexpr int64_t kRows = 3;
  std::mt19937 random(7);
  TestDevice device;
  const Weights w(device, random, type, kRows, columns);
  const int64_t stride = RoundUp(columns, kGroup);
  T* y = device.New<T>(kRows * stride);
  Must(UnpackRows(w.matrix, y, stride, device.stream()));
  const auto rows = device.Download(y, kRows * stride);
  for (int64_t i = 0; i < kRows * stride; ++i) {
    const float value = i % stride < columns ? w.values[i / stride * columns + i % stride] : 0.0f;
    ASSERT_EQ(ToFloat(rows[i]), ToFloat(testing::Round<T>(value))) << formats::TensorTypeName(type) << ", " << i;
  }
}

TEST(UnpackRows, AreTheValuesOfEveryType) {
  ExpectUnpacked<Fp16>(TensorType::kF16, 40);
  ExpectUnpacked<Bf16>(TensorType::kMxfp4, 96);
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kNvfp4}) {
    ExpectUnpacked<Fp16>(type, 192);
  }
  for (const TensorType type : kSuperBlocks) ExpectUnpacked<Fp16>(type, 512);
}

TEST(UnpackRows, RefuseWhatTheyCannotWrite) {
  std::mt19937 random(4);
  TestDevice device;
  const Weights w(device, random, TensorType::kQ8_0, 2, 32);
  EXPECT_FALSE(UnpackRows(w.matrix, device.New<Fp16>(80), 40, device.stream()));
  EXPECT_FALSE(UnpackRows(w.matrix, device.New<Fp16>(80), 16, device.stream()));
  EXPECT_FALSE(UnpackRows(w.matrix, device.New<Fp16>(80) + 1, 32, device.stream()));
  EXPECT_FALSE(UnpackRows(w.matrix, device.New<Bf16>(80), 32, device.stream()));
}

// To the bit what formats/ decodes.
TEST(EmbedRows, AreTheFloatsOfEveryType) {
  std::mt19937 random(6);
  const auto expect = [&](TensorType type, int64_t columns) {
    TestDevice device({.seed = random()});
    const Weights w(device, random, type, 10, columns);
    const std::vector<int32_t> tokens = {9, 0, 3, 3};
    float* y = device.New<float>(tokens.size() * columns);
    Must(EmbedRows(w.matrix, device.Upload(tokens), 4, y, device.stream()));
    const auto rows = device.Download(y, tokens.size() * columns);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i], w.values[tokens[i / columns] * columns + i % columns])
          << formats::TensorTypeName(type) << ", " << i;
    }
  };
  for (const TensorType type : kDense) {
    expect(type, 5);
    expect(type, 64);
  }
  for (const TensorType type : kSmallBlocks) expect(type, 192);
  for (const TensorType type : kSuperBlocks) expect(type, 512);
}

TEST(EmbedRows, ATokenBeyondTheTableIsAFault) {
  std::mt19937 random(7);
  TestDevice device;
  const Weights w(device, random, TensorType::kF32, 10, 16);
  Must(EmbedRows(w.matrix, device.Upload<int32_t>({10}), 1, device.New<float>(16), device.stream()));
  const Status done = device.runtime().Synchronize(device.stream());
  if (!device.runtime().fault()) GTEST_SKIP() << "the kernels of this build are not checked";
  EXPECT_FALSE(done);
  EXPECT_TRUE(device.runtime().fault()->rule == executor::Rule::kOutOfBounds);
}

// A row far beyond FP16's range keeps its digits.
TEST(Narrow, DividesByAPowerOfTwo) {
  const std::vector<float> x = {3e8f, -1e5f, 0.0f, 1e-7f, -3e-8f, 5e-9f, 0.0f, 0.0f, 0.0f};
  TestDevice device;
  auto* y = device.New<Fp16>(3 * 8);
  float* scales = device.New<float>(3);
  Must(Narrow<Fp16>({device.Upload(x), 3, 3, 3}, 8, y, scales, device.stream()));
  const auto halves = device.Download(y, 3 * 8);
  const auto factors = device.Download(scales, 3);
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(std::exp2(std::round(std::log2(factors[row]))), factors[row]);
    for (int c = 0; c < 8; ++c) {
      const double value = double{ToFloat(halves[row * 8 + c])} * factors[row];
      const double expected = c < 3 ? x[row * 3 + c] : 0.0;
      EXPECT_NEAR(value, expected, std::abs(x[row * 3]) * 0x1p-11) << row << ", " << c;
    }
  }
}

TEST(Narrow, RoundsToBf16) {
  TestDevice device;
  auto* y = device.New<Bf16>(8);
  Must(Narrow<Bf16>({device.Upload<float>({3e38f, 1.00390625f, -1.0f}), 1, 3, 3}, 8, y, nullptr, device.stream()));
  const auto values = device.Download(y, 8);
  EXPECT_EQ(values[0].bits, ToBf16(3e38f).bits);
  EXPECT_EQ(values[1].bits, ToBf16(1.00390625f).bits);
  EXPECT_EQ(ToFloat(values[2]), -1.0f);
  EXPECT_EQ(ToFloat(values[7]), 0.0f);
}

}  // namespace
}  // namespace inferflux::cuda
