// Rows of weights in device memory, as kernels read them: 16 values at a time, from addresses that are multiples of 16.
//
// Formats with small blocks are stored apart: all packed values of a row, then all its scales. Super-blocks are whole
// multiples of 16 bytes already, or are padded to one. Unpacking gives the floats that formats/ decodes, to the bit.
// Sources: formats/quant/blocks.h, formats/quant/k_scales.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "compute/cuda/device/half.h"
#include "compute/cuda/device/language.h"
#include "compute/cuda/kernels/pack.h"
#include "formats/quant/blocks.h"
#include "formats/tensor_type.h"

namespace inferflux::cuda {

// Values that are unpacked at once; a row has a whole number of such groups.
inline constexpr int kGroup = 16;

constexpr int64_t RoundUp(int64_t bytes, int64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

using SixteenBytes = Pack<uint8_t, 16>;

__device__ inline SixteenBytes LoadSixteen(const uint8_t* at) { return *reinterpret_cast<const SixteenBytes*>(at); }

// Dense rows of T, padded with zeros to whole groups.
template <class T, formats::TensorType kTensorType>
struct DenseRows {
  static constexpr formats::TensorType kType = kTensorType;
  using Element = T;  // what tensor cores multiply

  static int64_t RowBytes(int64_t columns) { return RoundUp(columns, kGroup) * static_cast<int64_t>(sizeof(T)); }
  static void Store(const std::byte* file, int64_t columns, std::byte* row) {
    std::memcpy(row, file, static_cast<size_t>(columns) * sizeof(T));
    std::memset(row + columns * static_cast<int64_t>(sizeof(T)), 0,
                static_cast<size_t>(RowBytes(columns)) - static_cast<size_t>(columns) * sizeof(T));
  }

  __device__ static void Unpack(const uint8_t* row, int64_t, int64_t group, float (&out)[kGroup]) {
    constexpr int kPack = kWidest<T>;
    const auto* from = reinterpret_cast<const Pack<T, kPack>*>(row) + group * (kGroup / kPack);
    for (int p = 0; p < kGroup / kPack; ++p) {
      const Pack<T, kPack> values = from[p];
      for (int i = 0; i < kPack; ++i) out[p * kPack + i] = AsFloat(values.x[i]);
    }
  }
};
using F32Rows = DenseRows<float, formats::TensorType::kF32>;
using F16Rows = DenseRows<Fp16, formats::TensorType::kF16>;
using Bf16Rows = DenseRows<Bf16, formats::TensorType::kBf16>;

// Blocks whose scales stand behind all packed values of the row.
template <class Block, formats::TensorType kTensorType, int kElements, int kValueBytes, int kScaleBytes>
struct SplitRows {
  static constexpr formats::TensorType kType = kTensorType;

  static int64_t ScalesAt(int64_t columns) { return RoundUp(columns / kElements * kValueBytes, 16); }
  static int64_t RowBytes(int64_t columns) {
    return RoundUp(ScalesAt(columns) + columns / kElements * kScaleBytes, 16);
  }
  // `values_at`: of the packed values in a block of the file; its other bytes are the scales.
  static void Split(const std::byte* file, int64_t columns, int values_at, int scales_at, std::byte* row) {
    std::memset(row, 0, static_cast<size_t>(RowBytes(columns)));
    for (int64_t b = 0; b < columns / kElements; ++b) {
      const std::byte* block = file + b * static_cast<int64_t>(sizeof(Block));
      std::memcpy(row + b * kValueBytes, block + values_at, kValueBytes);
      std::memcpy(row + ScalesAt(columns) + b * kScaleBytes, block + scales_at, kScaleBytes);
    }
  }
  __device__ static int64_t DeviceScalesAt(int64_t columns) {
    return (columns / kElements * kValueBytes + 15) / 16 * 16;
  }
};

struct Q8_0Rows : SplitRows<formats::BlockQ8_0, formats::TensorType::kQ8_0, 32, 32, 2> {
  using Element = Fp16;
  static void Store(const std::byte* file, int64_t columns, std::byte* row) { Split(file, columns, 2, 0, row); }

  __device__ static void Unpack(const uint8_t* row, int64_t columns, int64_t group, float (&out)[kGroup]) {
    const SixteenBytes values = LoadSixteen(row + group * kGroup);
    const float d = AsFloat(reinterpret_cast<const Fp16*>(row + DeviceScalesAt(columns))[group / 2]);
    for (int i = 0; i < kGroup; ++i) out[i] = static_cast<float>(static_cast<int8_t>(values.x[i])) * d;
  }
};

struct Q4_0Rows : SplitRows<formats::BlockQ4_0, formats::TensorType::kQ4_0, 32, 16, 2> {
  using Element = Fp16;
  static void Store(const std::byte* file, int64_t columns, std::byte* row) { Split(file, columns, 2, 0, row); }

  __device__ static void Unpack(const uint8_t* row, int64_t columns, int64_t group, float (&out)[kGroup]) {
    const SixteenBytes values = LoadSixteen(row + group / 2 * 16);
    const float d = AsFloat(reinterpret_cast<const Fp16*>(row + DeviceScalesAt(columns))[group / 2]);
    const int shift = static_cast<int>(group % 2) * 4;
    for (int i = 0; i < kGroup; ++i) out[i] = d * static_cast<float>((values.x[i] >> shift & 15) - 8);
  }
};

// The value of four bits, doubled: formats::kFp4Doubled without a table.
__device__ inline float Fp4Doubled(int bits) {
  const int magnitude = bits & 7;
  const int value = magnitude < 4 ? magnitude : magnitude < 6 ? 2 * magnitude - 4 : 4 * magnitude - 16;
  return static_cast<float>((bits & 8) != 0 ? -value : value);
}

// Its scales are powers of two beyond FP16's range.
struct Mxfp4Rows : SplitRows<formats::BlockMxfp4, formats::TensorType::kMxfp4, 32, 16, 1> {
  using Element = Bf16;
  static void Store(const std::byte* file, int64_t columns, std::byte* row) { Split(file, columns, 1, 0, row); }

  __device__ static void Unpack(const uint8_t* row, int64_t columns, int64_t group, float (&out)[kGroup]) {
    const SixteenBytes values = LoadSixteen(row + group / 2 * 16);
    const uint32_t e = row[DeviceScalesAt(columns) + group / 2];
    const float d = FloatOfBits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    const int shift = static_cast<int>(group % 2) * 4;
    for (int i = 0; i < kGroup; ++i) out[i] = d * Fp4Doubled(values.x[i] >> shift & 15);
  }
};

struct Nvfp4Rows : SplitRows<formats::BlockNvfp4, formats::TensorType::kNvfp4, 64, 32, 4> {
  using Element = Fp16;
  static void Store(const std::byte* file, int64_t columns, std::byte* row) { Split(file, columns, 4, 0, row); }

  __device__ static void Unpack(const uint8_t* row, int64_t columns, int64_t group, float (&out)[kGroup]) {
    const Pack<uint8_t, 8> values = reinterpret_cast<const Pack<uint8_t, 8>*>(row)[group];
    const int scale = row[DeviceScalesAt(columns) + group];
    float d = 0.0f;  // half of an unsigned e4m3; its NaN counts as zero
    if (scale != 0x7f) {
      const int exponent = scale >> 3 & 15;
      const auto mantissa = static_cast<float>(scale & 7);
      d = exponent == 0 ? mantissa * 0x1p-10f
                        : (1.0f + mantissa / 8.0f) * FloatOfBits(static_cast<uint32_t>(exponent + 119) << 23);
    }
    for (int i = 0; i < 8; ++i) {
      out[i] = d * Fp4Doubled(values.x[i] & 15);
      out[i + 8] = d * Fp4Doubled(values.x[i] >> 4);
    }
  }
};

// Super-blocks of 256, each padded to whole 16 bytes.
template <class Block, formats::TensorType kTensorType>
struct SuperBlockRows {
  static constexpr formats::TensorType kType = kTensorType;
  using Element = Fp16;
  static constexpr int64_t kBytes = (static_cast<int64_t>(sizeof(Block)) + 15) / 16 * 16;

  static int64_t RowBytes(int64_t columns) { return columns / 256 * kBytes; }
  static void Store(const std::byte* file, int64_t columns, std::byte* row) {
    for (int64_t b = 0; b < columns / 256; ++b) {
      std::memcpy(row + b * kBytes, file + b * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
      std::memset(row + b * kBytes + sizeof(Block), 0, static_cast<size_t>(kBytes) - sizeof(Block));
    }
  }
};

struct SubBlock {
  float d, min;
};

// Scale and minimum of a sub-block of 32 of Q4_K and Q5_K, whose first 16 bytes are d, dmin and the packed scales.
__device__ inline SubBlock SubBlockOf(const uint8_t* block, int sub) {
  const uint8_t* packed = block + 4;
  int scale = 0, min = 0;
  if (sub < 4) {
    scale = packed[sub] & 63;
    min = packed[sub + 4] & 63;
  } else {
    scale = (packed[sub + 4] & 15) | packed[sub - 4] >> 6 << 4;
    min = packed[sub + 4] >> 4 | packed[sub] >> 6 << 4;
  }
  const auto* factors = reinterpret_cast<const Fp16*>(block);
  return {AsFloat(factors[0]) * static_cast<float>(scale), AsFloat(factors[1]) * static_cast<float>(min)};
}

struct Q4_KRows : SuperBlockRows<formats::BlockQ4_K, formats::TensorType::kQ4_K> {
  __device__ static void Unpack(const uint8_t* row, int64_t, int64_t group, float (&out)[kGroup]) {
    const uint8_t* block = row + group / 16 * kBytes;
    const int in_block = static_cast<int>(group % 16);
    const int sub = in_block / 2;
    const SubBlock scale = SubBlockOf(block, sub);
    const SixteenBytes values = LoadSixteen(block + 16 + sub / 2 * 32 + in_block % 2 * 16);
    const int shift = sub % 2 * 4;
    for (int i = 0; i < kGroup; ++i) out[i] = scale.d * static_cast<float>(values.x[i] >> shift & 15) - scale.min;
  }
};

struct Q5_KRows : SuperBlockRows<formats::BlockQ5_K, formats::TensorType::kQ5_K> {
  __device__ static void Unpack(const uint8_t* row, int64_t, int64_t group, float (&out)[kGroup]) {
    const uint8_t* block = row + group / 16 * kBytes;
    const int in_block = static_cast<int>(group % 16);
    const int sub = in_block / 2;
    const SubBlock scale = SubBlockOf(block, sub);
    const SixteenBytes fifth = LoadSixteen(block + 16 + in_block % 2 * 16);
    const SixteenBytes values = LoadSixteen(block + 48 + sub / 2 * 32 + in_block % 2 * 16);
    const int shift = sub % 2 * 4;
    for (int i = 0; i < kGroup; ++i) {
      const int q = (values.x[i] >> shift & 15) | (fifth.x[i] >> sub & 1) << 4;
      out[i] = scale.d * static_cast<float>(q) - scale.min;
    }
  }
};

struct Q6_KRows : SuperBlockRows<formats::BlockQ6_K, formats::TensorType::kQ6_K> {
  __device__ static void Unpack(const uint8_t* row, int64_t, int64_t group, float (&out)[kGroup]) {
    const uint8_t* block = row + group / 16 * kBytes;
    const int in_block = static_cast<int>(group % 16);
    const int half = in_block / 8;       // of 128 values, with 64 bytes of low bits and 32 of high ones
    const int run = in_block / 2 % 4;    // of 32 values, whose high bits share a shift
    const int part = in_block % 2 * 16;  // of the run
    const SixteenBytes low = LoadSixteen(block + half * 64 + run % 2 * 32 + part);
    const SixteenBytes high = LoadSixteen(block + 128 + half * 32 + part);
    const float d = AsFloat(*reinterpret_cast<const Fp16*>(block + 208));
    const float scale = d * static_cast<float>(static_cast<int8_t>(block[192 + in_block]));
    for (int i = 0; i < kGroup; ++i) {
      const int q = ((low.x[i] >> run / 2 * 4 & 15) | (high.x[i] >> run * 2 & 3) << 4) - 32;
      out[i] = scale * static_cast<float>(q);
    }
  }
};

// f.template operator()<Rows>() with the rows of a stored type; false if no kernel reads it.
template <class F>
bool WithWeightRows(formats::TensorType type, const F& f) {
  const auto is = [&]<class R>(R) {
    if (type != R::kType) return false;
    f.template operator()<R>();
    return true;
  };
  return is(F32Rows{}) || is(F16Rows{}) || is(Bf16Rows{}) || is(Q8_0Rows{}) || is(Q4_0Rows{}) || is(Q4_KRows{}) ||
         is(Q5_KRows{}) || is(Q6_KRows{}) || is(Mxfp4Rows{}) || is(Nvfp4Rows{});
}

// Whether a kernel reads the type as the file has it.
constexpr bool HasWeightRows(formats::TensorType type) {
  using enum formats::TensorType;
  return type == kF32 || type == kF16 || type == kBf16 || type == kQ8_0 || type == kQ4_0 || type == kQ4_K ||
         type == kQ5_K || type == kQ6_K || type == kMxfp4 || type == kNvfp4;
}

}  // namespace inferflux::cuda
