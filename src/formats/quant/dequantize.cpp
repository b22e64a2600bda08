#include "formats/quant/dequantize.h"

#include <cstring>

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

RowDecoder DecoderOf(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return DecodePlain<float>;
    case TensorType::kF16:
      return DecodePlain<Fp16>;
    case TensorType::kBf16:
      return DecodePlain<Bf16>;
    case TensorType::kF64:
      return DecodePlain<double>;
    case TensorType::kI8:
      return DecodePlain<int8_t>;
    case TensorType::kI16:
      return DecodePlain<int16_t>;
    case TensorType::kI32:
      return DecodePlain<int32_t>;
    case TensorType::kI64:
      return DecodePlain<int64_t>;
    case TensorType::kQ4_0:
      return DecodeBlocks<BlockQ4_0, kSmallBlock>;
    case TensorType::kQ8_0:
      return DecodeBlocks<BlockQ8_0, kSmallBlock>;
    case TensorType::kQ4_K:
      return DecodeBlocks<BlockQ4_K, kSuperBlock>;
    case TensorType::kQ5_K:
      return DecodeBlocks<BlockQ5_K, kSuperBlock>;
    case TensorType::kQ6_K:
      return DecodeBlocks<BlockQ6_K, kSuperBlock>;
    default:
      return nullptr;
  }
}

}  // namespace

bool CanDequantize(TensorType type) { return DecoderOf(type) != nullptr; }

void DequantizeRow(TensorType type, const std::byte* blocks, float* out, int64_t n) { DecoderOf(type)(blocks, out, n); }

}  // namespace inferflux::formats
