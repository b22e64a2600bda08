// Seeded inputs for the compute tests: activations, and weight matrices in any block format.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/half.h"
#include "compute/host/arena.h"
#include "compute/params.h"
#include "formats/quant/blocks.h"
#include "formats/tensor_type.h"

namespace inferflux::compute::testing {

inline host::Buffer RandomBuffer(host::Arena& arena, std::mt19937& random, int64_t rows, int64_t cols) {
  std::normal_distribution<float> normal;
  host::Buffer out = arena.Allocate(rows, cols);
  for (int64_t r = 0; r < rows; ++r) std::generate_n(out.row(r), cols, [&] { return normal(random); });
  return out;
}

// A weight matrix and the bytes that it references.
struct OwnedMatrix {
  std::vector<std::byte> bytes;
  HostMatrix matrix;
};

namespace internal {

template <class Block, class Fix>
void FillBlocks(std::vector<std::byte>& bytes, const Fix& fix) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(Block)) fix(*reinterpret_cast<Block*>(bytes.data() + at));
}

}  // namespace internal

// Random bits in every field, but scales of a realistic size.
inline OwnedMatrix RandomMatrix(formats::TensorType type, std::mt19937& random, int64_t rows, int64_t cols) {
  using namespace formats;  // NOLINT: the block structs
  OwnedMatrix out;
  out.bytes.resize(static_cast<size_t>(*RowBytes(type, static_cast<uint64_t>(cols))) * rows);
  for (std::byte& byte : out.bytes) byte = static_cast<std::byte>(random());
  std::normal_distribution<float> normal(0.0f, 0.05f);
  std::uniform_real_distribution<float> uniform(0.5f, 1.5f);
  const auto small = [&](float size) { return ToFp16(size * uniform(random)); };
  const auto plain = [&](auto convert) {
    using T = decltype(convert(0.0f));
    internal::FillBlocks<T>(out.bytes, [&](T& value) { value = convert(normal(random)); });
  };
  switch (type) {
    case TensorType::kF32:
      plain([](float x) { return x; });
      break;
    case TensorType::kF16:
      plain([](float x) { return ToFp16(x); });
      break;
    case TensorType::kBf16:
      plain([](float x) { return ToBf16(x); });
      break;
    case TensorType::kQ8_0:
      internal::FillBlocks<BlockQ8_0>(out.bytes, [&](auto& b) { b.d = small(0.001f); });
      break;
    case TensorType::kMxfp4:
      internal::FillBlocks<BlockMxfp4>(out.bytes, [&](auto& b) { b.e = static_cast<uint8_t>(118 + random() % 8); });
      break;
    case TensorType::kNvfp4:
      internal::FillBlocks<BlockNvfp4>(out.bytes, [&](auto& b) {
        for (uint8_t& scale : b.scales) scale = static_cast<uint8_t>(random() % 64);
      });
      break;
    case TensorType::kQ4_0:
      internal::FillBlocks<BlockQ4_0>(out.bytes, [&](auto& b) { b.d = small(0.01f); });
      break;
    case TensorType::kQ5_0:
      internal::FillBlocks<BlockQ5_0>(out.bytes, [&](auto& b) { b.d = small(0.005f); });
      break;
    case TensorType::kQ5_1:
      internal::FillBlocks<BlockQ5_1>(out.bytes, [&](auto& b) {
        b.d = small(0.005f);
        b.m = small(-0.08f);
      });
      break;
    case TensorType::kQ4_1:
      internal::FillBlocks<BlockQ4_1>(out.bytes, [&](auto& b) {
        b.d = small(0.01f);
        b.m = small(-0.08f);
      });
      break;
    case TensorType::kQ2_K:
      internal::FillBlocks<BlockQ2_K>(out.bytes, [&](auto& b) {
        b.d = small(5e-3f);
        b.dmin = small(3e-3f);
      });
      break;
    case TensorType::kQ3_K:
      internal::FillBlocks<BlockQ3_K>(out.bytes, [&](auto& b) { b.d = small(1e-3f); });
      break;
    case TensorType::kIq4Nl:
      internal::FillBlocks<BlockIq4Nl>(out.bytes, [&](auto& b) { b.d = small(1e-3f); });
      break;
    case TensorType::kIq4Xs:
      internal::FillBlocks<BlockIq4Xs>(out.bytes, [&](auto& b) { b.d = small(5e-5f); });
      break;
    case TensorType::kIq1S:
      internal::FillBlocks<BlockIq1S>(out.bytes, [&](auto& b) { b.d = small(5e-3f); });
      break;
    case TensorType::kIq1M:  // its scale is in the top bits of four words
      internal::FillBlocks<BlockIq1M>(out.bytes, [&](auto& b) {
        const uint16_t d = small(5e-3f).bits;
        for (int i = 0; i < 4; ++i) {
          b.scales[i] = static_cast<uint16_t>((b.scales[i] & 0xfff) | (d >> (4 * i) & 15) << 12);
        }
      });
      break;
    case TensorType::kIq2Xxs:
      internal::FillBlocks<BlockIq2Xxs>(out.bytes, [&](auto& b) { b.d = small(1e-3f); });
      break;
    case TensorType::kIq2Xs:
      internal::FillBlocks<BlockIq2Xs>(out.bytes, [&](auto& b) { b.d = small(1e-3f); });
      break;
    case TensorType::kIq2S:
      internal::FillBlocks<BlockIq2S>(out.bytes, [&](auto& b) { b.d = small(1e-3f); });
      break;
    case TensorType::kIq3Xxs:
      internal::FillBlocks<BlockIq3Xxs>(out.bytes, [&](auto& b) { b.d = small(5e-4f); });
      break;
    case TensorType::kIq3S:
      internal::FillBlocks<BlockIq3S>(out.bytes, [&](auto& b) { b.d = small(5e-4f); });
      break;
    case TensorType::kTq1_0:
      internal::FillBlocks<BlockTq1_0>(out.bytes, [&](auto& b) { b.d = small(0.05f); });
      break;
    case TensorType::kTq2_0:
      internal::FillBlocks<BlockTq2_0>(out.bytes, [&](auto& b) { b.d = small(0.05f); });
      break;
    case TensorType::kQ6_K:
      internal::FillBlocks<BlockQ6_K>(out.bytes, [&](auto& b) { b.d = small(3e-5f); });
      break;
    case TensorType::kQ4_K:
    case TensorType::kQ5_K: {
      const bool four = type == TensorType::kQ4_K;
      const auto fix = [&](auto& b) {
        b.d = small(four ? 3e-4f : 1.5e-4f);
        b.dmin = small(2e-3f);
      };
      four ? internal::FillBlocks<BlockQ4_K>(out.bytes, fix) : internal::FillBlocks<BlockQ5_K>(out.bytes, fix);
      break;
    }
    default:
      break;
  }
  out.matrix = {std::string(TensorTypeName(type)), type, rows, cols, out.bytes};
  return out;
}

// Q8_0 whose numbers are at most 15 above the lowest of `run` blocks, which share a scale. `high`: all but one are 15
// above.
inline OwnedMatrix ZeroPoint4Matrix(std::mt19937& random, int64_t outputs, int64_t inputs, int run, bool high = false) {
  OwnedMatrix out = RandomMatrix(formats::TensorType::kQ8_0, random, outputs, inputs);
  auto* blocks = reinterpret_cast<formats::BlockQ8_0*>(out.bytes.data());
  const int64_t row_blocks = inputs / 32;
  for (int64_t i = 0; i < outputs * row_blocks; ++i) {
    const int64_t first = i - i % row_blocks % run;
    if (i == first) blocks[i].qs[0] = static_cast<int8_t>(random() % 241 - 128);
    const int lowest = blocks[first].qs[0];
    blocks[i].d = blocks[first].d;
    for (int8_t& q : blocks[i].qs) {
      if (&q != blocks[first].qs) q = static_cast<int8_t>(lowest + (high ? 15 : static_cast<int>(random() % 16)));
    }
  }
  return out;
}

}  // namespace inferflux::compute::testing
