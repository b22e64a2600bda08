// The layouts of packed weights, which every instruction set reads.
#include "compute/cpu/weight_formats/weight_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "compute/cpu/packing/packed_matrix.h"
#include "formats/tensor_type.h"

namespace inferflux::compute::cpu {
namespace {

using formats::TensorType;

// The format of each type in a file, and a hash (FNV-1a) of two panels packed from random bytes. A new format adds a
// row. Kernels and packing would agree on a layout that changed by mistake; the hash detects it.
struct Golden {
  TensorType type;
  const char* format;
  uint64_t hash;
};
constexpr Golden kGolden[] = {
    {TensorType::kF32, "f32", 0xd2d404dccd42faec},         {TensorType::kF16, "f16", 0x963f6bba43614744},
    {TensorType::kBf16, "bf16", 0x58609c324745297c},       {TensorType::kQ8_0, "q8_0", 0x5a3cc85fd63d06e8},
    {TensorType::kQ4_0, "q4_0", 0xa4fc68bb81da1a65},       {TensorType::kQ4_1, "q4_1", 0x80e94a27dace6fdb},
    {TensorType::kQ5_0, "q5_0", 0xf0fe9d8b15559a2d},       {TensorType::kQ5_1, "q5_1", 0x64a835ba77e7df40},
    {TensorType::kIq4Nl, "iq4_nl", 0xa4fc68bb81da1a65},    {TensorType::kIq4Xs, "iq4_xs", 0x338d7958cc68dfb7},
    {TensorType::kMxfp4, "fp4", 0x94d35a8a2c933f1c},       {TensorType::kNvfp4, "nvfp4", 0x0924927ae145ba1d},
    {TensorType::kQ2_K, "q2_k", 0x1f0d03a55fd23b00},       {TensorType::kTq1_0, "q2_k", 0xcb2177a24d38537e},
    {TensorType::kTq2_0, "q2_k", 0xaf2da321a921916b},      {TensorType::kQ3_K, "q3_k", 0x6dc0560e135134d9},
    {TensorType::kQ4_K, "q4_k", 0x08cb700632da4f6f},       {TensorType::kQ5_K, "q5_k", 0x7afa5cae92a7a64b},
    {TensorType::kQ6_K, "q6_k", 0x61932818c6749d26},       {TensorType::kIq1S, "codebook", 0xfdceb3fcc6873427},
    {TensorType::kIq1M, "codebook", 0x767e126324f4b59b},   {TensorType::kIq2Xxs, "codebook", 0xc86d03646346f324},
    {TensorType::kIq2Xs, "codebook", 0xfbcbd1f2edfd6627},  {TensorType::kIq2S, "codebook", 0x24b95673676f098f},
    {TensorType::kIq3Xxs, "codebook", 0xba30ddfa5240f16d}, {TensorType::kIq3S, "codebook", 0x3cfb6ee0ba467776},
};

uint64_t HashOfPanels(TensorType type) {
  constexpr int64_t kRows = 19, kCols = 512;  // 16 outputs, and 3 of the next panel
  std::mt19937 random(11);
  std::vector<std::byte> bytes(static_cast<size_t>(*formats::RowBytes(type, kCols)) * kRows);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 24);
  const HostMatrix matrix{.name = "m", .type = type, .rows = kRows, .cols = kCols, .data = bytes};
  const PanelFormat format = FormatOf(type);
  std::vector<uint64_t> panel(static_cast<size_t>(PanelBytes(format, kCols)) / sizeof(uint64_t));
  uint64_t hash = 14695981039346656037u;
  for (int64_t p = 0; p < 2; ++p) {
    std::ranges::fill(panel, 0);
    PackPanel(matrix, format, p, reinterpret_cast<std::byte*>(panel.data()));
    const auto* begin = reinterpret_cast<const uint8_t*>(panel.data());
    for (size_t i = 0; i < panel.size() * sizeof(uint64_t); ++i) hash = (hash ^ begin[i]) * 1099511628211u;
  }
  return hash;
}

TEST(WeightFormats, EachTypeIsPackedInTheLayoutThatItHad) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(formats::TensorTypeName(golden.type));
    EXPECT_STREQ(FormatName(FormatOf(golden.type)), golden.format);
    EXPECT_EQ(HashOfPanels(golden.type), golden.hash);
  }
}

template <class... Each>
std::vector<TensorType> TypesOf(FileBlockList<Each...>) {
  return {Each::kType...};
}

// A type in two rows would be packed as the second; one without a golden row would be untested.
TEST(WeightFormats, EachTypeIsInOneRowAndHasAGolden) {
  std::vector<TensorType> types;
  ForFormats(
      [&]<class Format>() { std::ranges::copy(TypesOf(typename Format::FileBlocks()), std::back_inserter(types)); });
  std::vector<TensorType> tested;
  for (const Golden& golden : kGolden) tested.push_back(golden.type);
  std::ranges::sort(types);
  std::ranges::sort(tested);
  EXPECT_EQ(types, tested);
}

}  // namespace
}  // namespace inferflux::compute::cpu
