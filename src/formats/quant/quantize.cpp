#include "formats/quant/quantize.h"

#include <array>
#include <cstring>

#include "formats/quant/block_encoders.h"

namespace inferflux::formats {
namespace {

using RowEncoder = void (*)(const float* values, const float* importance, std::byte* blocks, int64_t n);

template <auto kConvert>
void EncodePlain(const float* values, const float* /*importance*/, std::byte* blocks, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const auto value = kConvert(values[i]);
    std::memcpy(blocks + i * static_cast<int64_t>(sizeof(value)), &value, sizeof(value));
  }
}

template <class Block, int kElements>
void EncodeBlocks(const float* values, const float* importance, std::byte* blocks, int64_t n) {
  auto* block = reinterpret_cast<Block*>(blocks);
  for (int64_t i = 0; i < n; i += kElements) {
    EncodeBlock(values + i, importance != nullptr ? importance + i : nullptr, *block++);
  }
}

struct EncoderRow {
  TensorType type;
  RowEncoder encode;
};

constexpr EncoderRow kEncoders[] = {
    {TensorType::kF32, EncodePlain<[](float v) { return v; }>},
    {TensorType::kF16, EncodePlain<[](float v) { return ToFp16(v); }>},
    {TensorType::kBf16, EncodePlain<[](float v) { return ToBf16(v); }>},
    {TensorType::kQ4_0, EncodeBlocks<BlockQ4_0, kSmallBlock>},
    {TensorType::kQ4_1, EncodeBlocks<BlockQ4_1, kSmallBlock>},
    {TensorType::kQ5_0, EncodeBlocks<BlockQ5_0, kSmallBlock>},
    {TensorType::kQ5_1, EncodeBlocks<BlockQ5_1, kSmallBlock>},
    {TensorType::kQ8_0, EncodeBlocks<BlockQ8_0, kSmallBlock>},
    {TensorType::kQ2_K, EncodeBlocks<BlockQ2_K, kSuperBlock>},
    {TensorType::kQ3_K, EncodeBlocks<BlockQ3_K, kSuperBlock>},
    {TensorType::kQ4_K, EncodeBlocks<BlockQ4_K, kSuperBlock>},
    {TensorType::kQ5_K, EncodeBlocks<BlockQ5_K, kSuperBlock>},
    {TensorType::kQ6_K, EncodeBlocks<BlockQ6_K, kSuperBlock>},
    {TensorType::kIq4Nl, EncodeBlocks<BlockIq4Nl, kSmallBlock>},
    {TensorType::kIq4Xs, EncodeBlocks<BlockIq4Xs, kSuperBlock>},
    {TensorType::kMxfp4, EncodeBlocks<BlockMxfp4, kSmallBlock>},
    {TensorType::kTq1_0, EncodeBlocks<BlockTq1_0, kSuperBlock>},
    {TensorType::kTq2_0, EncodeBlocks<BlockTq2_0, kSuperBlock>},
};

// By type id.
constexpr auto kEncoderOf = [] {
  std::array<RowEncoder, static_cast<size_t>(TensorType::kNvfp4) + 1> table{};
  for (const EncoderRow& row : kEncoders) table[static_cast<size_t>(row.type)] = row.encode;
  return table;
}();

}  // namespace

bool CanQuantize(TensorType type) { return kEncoderOf[static_cast<size_t>(type)] != nullptr; }

void QuantizeRow(TensorType type, const float* values, const float* importance, std::byte* blocks, int64_t n) {
  kEncoderOf[static_cast<size_t>(type)](values, importance, blocks, n);
}

}  // namespace inferflux::formats
