// An importance matrix, number by number.
#include "formats/quantize/importance_matrix.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "formats/gguf/gguf_writer.h"

namespace inferflux::formats {
namespace {

using Sizes = std::vector<uint64_t>;

struct Importance {
  std::vector<float> sums = {2, 4, 6, 8, 10, 12};  // three columns of two experts
  Sizes sums_shape = {3, 1, 2};
  std::vector<float> counts = {2, 4};
  std::string counts_name = "w.counts", sums_name = "w.in_sum2";
};

Result<ImportanceMatrix> Read(const Importance& made) {
  std::ostringstream out;
  GgufWriter writer(out);
  EXPECT_TRUE(writer.AddTensor(made.sums_name, TensorType::kF32, made.sums_shape));
  EXPECT_TRUE(writer.AddTensor(made.counts_name, TensorType::kF32, Sizes{made.counts.size()}));
  EXPECT_TRUE(writer.WriteHeader());
  EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(made.sums))));
  EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(made.counts))));
  EXPECT_TRUE(writer.Finish());
  const std::string bytes = out.str();
  return ImportanceMatrix::FromGguf(**GgufFile::Parse(std::as_bytes(std::span(bytes))));
}

std::string Of(const Importance& made, std::array<uint64_t, 4> dims = {3, 5, 2, 1}, const char* name = "w") {
  const auto matrix = Read(made);
  if (!matrix) return matrix.error().message;
  EXPECT_EQ(matrix->size(), 1u);
  GgufTensor tensor;
  tensor.name = name;
  tensor.dims = dims;
  const auto values = matrix->For(tensor);
  if (!values) return values.error().message;
  std::string text;
  for (const float value : *values) text += fmt::format("{} ", value);
  return text;
}

TEST(Importance, IsTheMeanOfEachExpertsColumns) {
  EXPECT_EQ(Of({}), "1 2 3 2 2.5 3 ");
  EXPECT_EQ(Of({.counts = {0, 4}}), "0 0 0 2 2.5 3 ") << "no sample reached the first expert";
  EXPECT_EQ(Of({.counts = {-1, 4}}), "0 0 0 2 2.5 3 ");
  EXPECT_EQ(Of({.sums = {0, 1, 2}, .sums_shape = {3}, .counts = {1}}, {3, 5, 1, 1}), "0 1 2 ");
  EXPECT_EQ(Of({}, {3, 5, 2, 1}, "other"), "") << "the file has none for it";
  const std::string other = "the importance matrix has 6 values for tensor 'w', which needs ";
  EXPECT_EQ(Of({}, {3, 5, 1, 1}), other + "3: it was made from another model");
  EXPECT_EQ(Of({}, {2, 5, 2, 1}), other + "4: it was made from another model");
}

TEST(Importance, WhatCannotBeIsNamed) {
  EXPECT_EQ(Of({.counts = {1, 1, 1, 1}}), "GGUF: 'w' has 6 sums, but 4 counts");
  EXPECT_EQ(Of({.sums = {1, -2, 3, 4, 5, 6}}), "GGUF: 'w' has an importance of -1");
  EXPECT_EQ(Of({.sums = {1, 2, 3, 4, 5, std::numeric_limits<float>::infinity()}}),
            "GGUF: 'w' has an importance of inf");
  EXPECT_EQ(Of({.sums_name = "w.other"}), "GGUF: it holds no importance ('NAME.in_sum2' tensors)");
  EXPECT_NE(Of({.counts_name = "v.counts"}).find("w.counts"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::formats
