#include "formats/quant/dequantize.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "formats/quant/block_decoders.h"

namespace inferflux::formats {
namespace {

using RowDecoder = void (*)(const std::byte* blocks, float* out, int64_t n);

template <class T>
float AsFloat(T value) {
  if constexpr (requires { ToFloat(value); } && !std::is_arithmetic_v<T>) {
    return ToFloat(value);
  } else {
    return static_cast<float>(value);
  }
}

template <class T>
void DecodePlain(const std::byte* blocks, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, blocks + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    out[i] = AsFloat(value);
  }
}

template <class Block, int kElements>
void DecodeBlocks(const std::byte* blocks, float* out, int64_t n) {
  const auto* block = reinterpret_cast<const Block*>(blocks);
  for (int64_t i = 0; i < n / kElements; ++i) DecodeBlock(block[i], out + i * kElements);
}

struct DecoderRow {
  TensorType type;
  RowDecoder decode;
};

constexpr DecoderRow kDecoders[] = {
    {TensorType::kF32, DecodePlain<float>},
    {TensorType::kF16, DecodePlain<Fp16>},
    {TensorType::kBf16, DecodePlain<Bf16>},
    {TensorType::kF64, DecodePlain<double>},
    {TensorType::kI8, DecodePlain<int8_t>},
    {TensorType::kI16, DecodePlain<int16_t>},
    {TensorType::kI32, DecodePlain<int32_t>},
    {TensorType::kI64, DecodePlain<int64_t>},
    {TensorType::kQ4_0, DecodeBlocks<BlockQ4_0, kSmallBlock>},
    {TensorType::kQ4_1, DecodeBlocks<BlockQ4_1, kSmallBlock>},
    {TensorType::kQ5_0, DecodeBlocks<BlockQ5_0, kSmallBlock>},
    {TensorType::kQ5_1, DecodeBlocks<BlockQ5_1, kSmallBlock>},
    {TensorType::kQ8_0, DecodeBlocks<BlockQ8_0, kSmallBlock>},
    {TensorType::kIq4Nl, DecodeBlocks<BlockIq4Nl, kSmallBlock>},
    {TensorType::kMxfp4, DecodeBlocks<BlockMxfp4, kSmallBlock>},
    {TensorType::kNvfp4, DecodeBlocks<BlockNvfp4, 64>},
    {TensorType::kQ2_K, DecodeBlocks<BlockQ2_K, kSuperBlock>},
    {TensorType::kQ3_K, DecodeBlocks<BlockQ3_K, kSuperBlock>},
    {TensorType::kQ4_K, DecodeBlocks<BlockQ4_K, kSuperBlock>},
    {TensorType::kQ5_K, DecodeBlocks<BlockQ5_K, kSuperBlock>},
    {TensorType::kQ6_K, DecodeBlocks<BlockQ6_K, kSuperBlock>},
    {TensorType::kQ8_K, DecodeBlocks<BlockQ8_K, kSuperBlock>},
    {TensorType::kTq1_0, DecodeBlocks<BlockTq1_0, kSuperBlock>},
    {TensorType::kTq2_0, DecodeBlocks<BlockTq2_0, kSuperBlock>},
    {TensorType::kIq4Xs, DecodeBlocks<BlockIq4Xs, kSuperBlock>},
    {TensorType::kIq2Xxs, DecodeBlocks<BlockIq2Xxs, kSuperBlock>},
    {TensorType::kIq2Xs, DecodeBlocks<BlockIq2Xs, kSuperBlock>},
    {TensorType::kIq2S, DecodeBlocks<BlockIq2S, kSuperBlock>},
    {TensorType::kIq3Xxs, DecodeBlocks<BlockIq3Xxs, kSuperBlock>},
    {TensorType::kIq3S, DecodeBlocks<BlockIq3S, kSuperBlock>},
    {TensorType::kIq1S, DecodeBlocks<BlockIq1S, kSuperBlock>},
    {TensorType::kIq1M, DecodeBlocks<BlockIq1M, kSuperBlock>},
};

// By type id.
constexpr auto kDecoderOf = [] {
  std::array<RowDecoder, static_cast<size_t>(TensorType::kNvfp4) + 1> table{};
  for (const DecoderRow& row : kDecoders) table[static_cast<size_t>(row.type)] = row.decode;
  return table;
}();

}  // namespace

bool CanDequantize(TensorType type) { return kDecoderOf[static_cast<size_t>(type)] != nullptr; }

void DequantizeRow(TensorType type, const std::byte* blocks, float* out, int64_t n) {
  kDecoderOf[static_cast<size_t>(type)](blocks, out, n);
}

}  // namespace inferflux::formats
