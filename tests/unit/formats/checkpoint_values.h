// What a reader of quantised weights makes of the files that tools/*_golden.py made.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "formats/quant/dequantize.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

inline std::shared_ptr<const SafetensorsFile> OpenCheckpointData(const std::string& name) {
  return *SafetensorsFile::Open(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/checkpoints/" + name);
}

// Every value of `rows` of a type, as floats.
inline std::vector<float> CheckpointFloats(TensorType type, const std::vector<std::byte>& data, int64_t rows,
                                           int64_t cols) {
  std::vector<float> out(static_cast<size_t>(rows * cols));
  const size_t row_bytes = data.size() / static_cast<size_t>(rows);
  for (int64_t r = 0; r < rows; ++r) DequantizeRow(type, data.data() + r * row_bytes, out.data() + r * cols, cols);
  return out;
}

// That a weight is, bit for bit, NAME.expected, [outputs, inputs] of F32; signs of zeros aside.
template <class Weight>
void ExpectCheckpointValues(const Weight& weight, const std::string& name, const SafetensorsFile& weights) {
  const SafetensorsTensor* expected = weights.FindTensor(name + ".expected");
  ASSERT_NE(expected, nullptr);
  ASSERT_EQ(expected->shape, (std::vector<uint64_t>{uint64_t(weight.outputs()), uint64_t(weight.inputs())}));
  const auto values = CheckpointFloats(weight.type(), weight.Read(), weight.outputs(), weight.inputs());
  std::vector<float> wanted(values.size());
  std::memcpy(wanted.data(), expected->data.data(), expected->data.size());
  EXPECT_EQ(values, wanted);
}

}  // namespace inferflux::formats
