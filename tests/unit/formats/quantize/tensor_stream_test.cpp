// A tensor that is converted piece by piece: long rows, many rows, experts; and what is reported meanwhile.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "formats/gguf/gguf_file.h"
#include "formats/quant/dequantize.h"
#include "formats/quant/quantize.h"
#include "formats/quantize/quantize_gguf.h"
#include "formats/quantize/tensor_stream.h"

namespace inferflux::formats {
namespace {

using Shape = std::vector<uint64_t>;

struct Streamed {
  std::string bytes;           // of the tensor
  std::vector<uint64_t> done;  // what was reported
  double rmse = 0.0;
};

// A tensor of these values as `type`, written to a file of its own.
Streamed StreamOf(const std::vector<float>& values, const Shape& shape, TensorType type, int workers,
                  std::span<const float> importance = {}) {
  GgufTensor tensor;
  tensor.name = "t";
  tensor.type = TensorType::kF32;
  tensor.rank = static_cast<uint32_t>(shape.size());
  tensor.dims = {1, 1, 1, 1};
  std::copy(shape.begin(), shape.end(), tensor.dims.begin());
  tensor.data = std::as_bytes(std::span(values));
  std::ostringstream out;
  GgufWriter writer(out);
  EXPECT_TRUE(writer.AddTensor("t", type, shape));
  EXPECT_TRUE(writer.WriteHeader());
  const size_t header = out.str().size();
  ThreadPool pool(workers);
  Streamed result;
  const auto rmse =
      StreamTensor(tensor, type, importance, writer, pool, [&](uint64_t bytes) { result.done.push_back(bytes); });
  EXPECT_TRUE(rmse) << rmse.error().message;
  EXPECT_TRUE(writer.Finish());
  result.bytes = out.str().substr(header, *TensorBytes(type, shape));
  result.rmse = rmse.value_or(-1.0);
  return result;
}

std::vector<float> Waves(size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<int>(i * 7919 % 2003) - 1001) * 0x1p-9f;
  return out;
}

// Row by row, with the importance of the row's expert.
std::string AtOnce(const std::vector<float>& values, const Shape& shape, TensorType type,
                   const std::vector<float>& importance = {}) {
  const size_t columns = shape[0], rows = values.size() / columns, row_bytes = *RowBytes(type, columns);
  const size_t rows_of_expert = shape.size() > 2 ? shape[1] : rows;
  std::string out(rows * row_bytes, '\0');
  for (size_t r = 0; r < rows; ++r) {
    const float* of_row = importance.empty() ? nullptr : importance.data() + r / rows_of_expert * columns;
    QuantizeRow(type, values.data() + r * columns, of_row, reinterpret_cast<std::byte*>(out.data() + r * row_bytes),
                static_cast<int64_t>(columns));
  }
  return out;
}

TEST(TensorStream, LongRowsAreCutIntoPieces) {
  const Shape shape{2 * 16384 + 32, 3};
  const auto values = Waves(shape[0] * shape[1]);
  std::vector<float> importance(shape[0]);
  for (size_t i = 0; i < importance.size(); ++i) importance[i] = static_cast<float>(i % 97) * 0.5f;
  for (const int workers : {1, 3}) {
    const Streamed plain = StreamOf(values, shape, TensorType::kQ4_1, workers);
    EXPECT_TRUE(plain.bytes == AtOnce(values, shape, TensorType::kQ4_1));
    EXPECT_EQ(plain.done, (std::vector<uint64_t>{values.size() * 4})) << "nine pieces, one batch";
    EXPECT_TRUE(StreamOf(values, shape, TensorType::kQ4_1, workers, importance).bytes ==
                AtOnce(values, shape, TensorType::kQ4_1, importance));
  }
}

TEST(TensorStream, ManyRowsAreWrittenInBatches) {
  const Shape shape{32, 520, 2};
  const auto values = Waves(32 * 1040);
  std::vector<float> importance(64);
  for (size_t i = 0; i < importance.size(); ++i) importance[i] = static_cast<float>(i % 7) + 0.25f;
  const Streamed streamed = StreamOf(values, shape, TensorType::kQ4_1, 2, importance);
  EXPECT_TRUE(streamed.bytes == AtOnce(values, shape, TensorType::kQ4_1, importance));
  EXPECT_EQ(streamed.done, (std::vector<uint64_t>{512 * 128, 1024 * 128, 1040 * 128}));
  std::vector<float> back(values.size());
  DequantizeRow(TensorType::kQ4_1, reinterpret_cast<const std::byte*>(streamed.bytes.data()), back.data(),
                static_cast<int64_t>(back.size()));
  double squares = 0.0;
  for (size_t i = 0; i < back.size(); ++i) squares += std::pow(double{values[i]} - double{back[i]}, 2);
  EXPECT_GT(squares, 0.0);
  EXPECT_NEAR(streamed.rmse, std::sqrt(squares / static_cast<double>(back.size())), 1e-12);
}

TEST(TensorStream, AnUnchangedTensorIsCopiedInParts) {
  const Shape shape{1 << 20, 9};  // 36 MiB
  const std::vector<float> values = Waves(shape[0] * shape[1]);
  const Streamed copied = StreamOf(values, shape, TensorType::kF32, 1);
  EXPECT_TRUE(copied.bytes == std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * 4));
  EXPECT_EQ(copied.done, (std::vector<uint64_t>{16 << 20, 32 << 20, 36 << 20}));
  EXPECT_EQ(copied.rmse, 0.0);
}

TEST(TensorStream, OnlyWholePagesAreReleased) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* bytes = static_cast<std::byte*>(memory);
  // Released pages of anonymous memory are zeros afterwards.
  const auto kept = [&](size_t begin, size_t end) {
    std::fill_n(bytes, 5 * page, std::byte{1});
    ReleasePages({bytes + begin, end - begin});
    std::string out;
    for (size_t p = 0; p < 5; ++p)
      out += bytes[p * page] == std::byte{1} && bytes[(p + 1) * page - 1] == std::byte{1} ? '1' : '0';
    return out;
  };
  EXPECT_EQ(kept(0, 5 * page), "00000");
  EXPECT_EQ(kept(page, 3 * page), "10011");
  EXPECT_EQ(kept(page - 1, 3 * page + 1), "10011");
  EXPECT_EQ(kept(page + 1, 3 * page - 1), "11111");
  EXPECT_EQ(kept(page + 1, 3 * page), "11011");
  EXPECT_EQ(kept(1, page), "11111");
  EXPECT_EQ(kept(2 * page, 2 * page), "11111");
  ::munmap(memory, 5 * page);
}

// A model of two matrices, a vector and keys that a quantised file must not keep.
std::string SmallModel() {
  std::ostringstream out;
  GgufWriter writer(out, 64);
  writer.Set("general.architecture", "llama");
  writer.Set<uint32_t>("llama.block_count", 1);
  writer.Set<uint32_t>("general.file_type", 0);
  writer.Set<uint16_t>("split.no", 0);
  writer.Set<uint16_t>("split.count", 1);
  EXPECT_TRUE(writer.AddTensor("output.weight", TensorType::kF32, Shape{256, 2}));
  EXPECT_TRUE(writer.AddTensor("blk.0.attn_norm.weight", TensorType::kF32, Shape{256}));
  EXPECT_TRUE(writer.AddTensor("blk.0.attn_q.weight", TensorType::kF32, Shape{256, 3}));
  EXPECT_TRUE(writer.WriteHeader());
  const auto values = Waves(6 * 256);
  EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(values))));
  EXPECT_TRUE(writer.Finish());
  return out.str();
}

TEST(QuantizedModel, HasItsOwnKeysAndReportsEachStep) {
  const std::string model = SmallModel();
  const auto source = *GgufFile::Parse(std::as_bytes(std::span(model)));
  std::ostringstream out;
  ThreadPool pool(1);
  std::vector<std::string> steps;
  const auto tensors = QuantizeGguf(*source, out, {.mix = *FindQuantMix("Q4_K_M")}, pool,
                                    [&](uint64_t done, uint64_t total, const GgufTensor& tensor) {
                                      steps.push_back(fmt::format("{} {}/{}", tensor.name, done, total));
                                    });
  ASSERT_TRUE(tensors) << tensors.error().message;
  EXPECT_EQ(steps, (std::vector<std::string>{"output.weight 2048/6144", "blk.0.attn_norm.weight 3072/6144",
                                             "blk.0.attn_q.weight 6144/6144"}));
  std::string types;
  for (const QuantizedTensor& tensor : *tensors)
    types += fmt::format("{} {} {}; ", tensor.source->name, TensorTypeName(tensor.type), tensor.bytes);
  EXPECT_EQ(types, "output.weight Q6_K 420; blk.0.attn_norm.weight F32 1024; blk.0.attn_q.weight Q4_K 432; ");
  EXPECT_EQ((*tensors)[1].rmse, 0.0);
  EXPECT_GT((*tensors)[0].rmse, 0.0);
  const std::string bytes = out.str();
  const auto written = *GgufFile::Parse(std::as_bytes(std::span(bytes)));
  std::string keys;
  for (const GgufEntry& entry : written->metadata().entries()) keys += std::string(entry.key) + " ";
  EXPECT_EQ(keys, "general.architecture llama.block_count general.file_type general.quantization_version ");
  EXPECT_EQ(written->metadata().Get<uint32_t>("general.file_type"), 15u);
  EXPECT_EQ(written->metadata().Get<uint32_t>("general.quantization_version"), 2u);
}

}  // namespace
}  // namespace inferflux::formats
