// Compares the readers of quantised weights with the files that tools/*_golden.py made.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "formats/quant/dequantize.h"
#include "formats/quantized_checkpoints/gptq_awq.h"
#include "formats/safetensors/safetensors_file.h"
#include "formats/weight_layout/weight_layout.h"

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

// Expects a weight to equal NAME.expected, [outputs, inputs] of F32, bit for bit, except for signs of zeros.
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

// Expects an act-order layout of `type` that equals the weight itself, bit for bit.
inline void ExpectSameInOrder(const GroupwiseInts& ints, TensorType type) {
  const auto told = ints.layout();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->type, type);
  EXPECT_TRUE(told->data.empty()) << "nothing was asked for yet";
  const ActOrderLayout layout = ints.ReadLayout();
  EXPECT_TRUE(Fits(layout, ints.outputs(), ints.inputs()));
  EXPECT_EQ(StoredBytes(*told, ints.outputs(), ints.inputs()), static_cast<int64_t>(StoredBytes(WeightLayout(layout))));
  const auto plain = CheckpointFloats(ints.type(), ints.Read(), ints.outputs(), ints.inputs());
  const auto ordered =
      CheckpointFloats(layout.type, {layout.data.begin(), layout.data.end()}, ints.outputs(), ints.inputs());
  std::vector<float> back(plain.size());
  for (size_t i = 0; i < back.size(); ++i) {
    const size_t row = i / layout.order.size() * layout.order.size();
    back[row + static_cast<size_t>(layout.order[i - row])] = ordered[i];
  }
  EXPECT_EQ(back, plain);
}

}  // namespace inferflux::formats
