#include <cstring>

#include "compute/host/check_matrix.h"
#include "compute/mlx/arrays.h"
#include "compute/mlx/weights.h"
#include "formats/quant/blocks.h"
#include "formats/quant/k_scales.h"

namespace inferflux::compute {
namespace {

using namespace formats;  // NOLINT: the block structs

struct Group {
  float scale = 0.0f;
  float bias = 0.0f;
  uint8_t q[kAffineGroup];
};

// The small formats store element i in the low nibble of byte i, and element i + 16 in the high one.
void ReadNibbles(const uint8_t qs[16], Group& out) {
  for (int i = 0; i < 16; ++i) {
    out.q[i] = qs[i] & 15;
    out.q[i + 16] = qs[i] >> 4;
  }
}

void AddFifthBits(const uint8_t qh[4], Group& out) {
  uint32_t bits;
  std::memcpy(&bits, qh, sizeof(bits));
  for (int i = 0; i < 32; ++i) out.q[i] |= static_cast<uint8_t>(((bits >> i) & 1) << 4);
}

void Read(const BlockQ4_0& block, int, Group& out) {
  ReadNibbles(block.qs, out);
  out.scale = ToFloat(block.d);
  out.bias = -8.0f * out.scale;
}

void Read(const BlockQ4_1& block, int, Group& out) {
  ReadNibbles(block.qs, out);
  out.scale = ToFloat(block.d);
  out.bias = ToFloat(block.m);
}

void Read(const BlockQ5_0& block, int, Group& out) {
  ReadNibbles(block.qs, out);
  AddFifthBits(block.qh, out);
  out.scale = ToFloat(block.d);
  out.bias = -16.0f * out.scale;
}

void Read(const BlockQ5_1& block, int, Group& out) {
  ReadNibbles(block.qs, out);
  AddFifthBits(block.qh, out);
  out.scale = ToFloat(block.d);
  out.bias = ToFloat(block.m);
}

void Read(const BlockQ8_0& block, int, Group& out) {
  for (int i = 0; i < 32; ++i) out.q[i] = static_cast<uint8_t>(block.qs[i] + 128);
  out.scale = ToFloat(block.d);
  out.bias = -128.0f * out.scale;
}

// Sub-block `sub` of a super-block: 32 bytes hold two of them, the first in the low nibbles.
template <class Block>
void ReadSubBlock(const Block& block, int sub, Group& out) {
  const ScaleMin packed = UnpackScaleMin(block.scales, sub);
  out.scale = ToFloat(block.d) * static_cast<float>(packed.scale);
  out.bias = -ToFloat(block.dmin) * static_cast<float>(packed.min);
  for (int i = 0; i < 32; ++i) out.q[i] = (block.qs[sub / 2 * 32 + i] >> (sub % 2 * 4)) & 15;
}

void Read(const BlockQ4_K& block, int sub, Group& out) { ReadSubBlock(block, sub, out); }

void Read(const BlockQ5_K& block, int sub, Group& out) {
  ReadSubBlock(block, sub, out);
  for (int i = 0; i < 32; ++i) out.q[i] |= static_cast<uint8_t>(((block.qh[i] >> sub) & 1) << 4);
}

// A group's values as MLX packs them: a bit string, with the first value's lowest bit first.
void Pack(const Group& group, int bits, uint32_t* words) {
  uint64_t held = 0;
  int count = 0;
  for (const uint8_t q : group.q) {
    held |= uint64_t{q} << count;
    count += bits;
    if (count >= 32) {
      *words++ = static_cast<uint32_t>(held);
      held >>= 32;
      count -= 32;
    }
  }
}

template <class Block, int kBits, int kElements>
Mlx::Weights Convert(const HostMatrix& matrix) {
  constexpr int kSubBlocks = kElements / kAffineGroup;
  const int64_t groups = matrix.cols / kAffineGroup;
  const mx::Shape scale_shape{Int(matrix.rows), Int(groups)};
  Mlx::Weights out{.values = MakeArray<uint32_t>({Int(matrix.rows), Int(groups * kBits)}, mx::uint32, [](auto*) {}),
                   .scales = MakeArray<float>(scale_shape, mx::float32, [](auto*) {}),
                   .biases = MakeArray<float>(scale_shape, mx::float32, [](auto*) {}),
                   .bits = kBits,
                   .group = kAffineGroup};
  auto* words = out.values.data<uint32_t>();
  auto* scales = out.scales->data<float>();
  auto* biases = out.biases->data<float>();
  Group group;
  for (int64_t r = 0; r < matrix.rows; ++r) {
    const std::byte* row = matrix.data.data() + r * host::RowBytesOf(matrix);
    for (int64_t g = 0; g < groups; ++g) {
      Block block;  // a file's rows need not be aligned
      std::memcpy(&block, row + g / kSubBlocks * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
      Read(block, static_cast<int>(g % kSubBlocks), group);
      *scales++ = group.scale;
      *biases++ = group.bias;
      Pack(group, kBits, words);
      words += kBits;
    }
  }
  return out;
}

struct AffineType {
  TensorType type;
  int bits;
  Mlx::Weights (*convert)(const HostMatrix&);
};

constexpr AffineType kAffineTypes[] = {
    {TensorType::kQ4_0, 4, Convert<BlockQ4_0, 4, kSmallBlock>},
    {TensorType::kQ4_1, 4, Convert<BlockQ4_1, 4, kSmallBlock>},
    {TensorType::kQ5_0, 5, Convert<BlockQ5_0, 5, kSmallBlock>},
    {TensorType::kQ5_1, 5, Convert<BlockQ5_1, 5, kSmallBlock>},
    {TensorType::kQ8_0, 8, Convert<BlockQ8_0, 8, kSmallBlock>},
    {TensorType::kQ4_K, 4, Convert<BlockQ4_K, 4, kSuperBlock>},
    {TensorType::kQ5_K, 5, Convert<BlockQ5_K, 5, kSuperBlock>},
};

const AffineType* Find(TensorType type) {
  for (const AffineType& each : kAffineTypes) {
    if (each.type == type) return &each;
  }
  return nullptr;
}

}  // namespace

int AffineBits(TensorType type) { return Find(type) != nullptr ? Find(type)->bits : 0; }

Mlx::Weights AffineWeights(const HostMatrix& matrix) { return Find(matrix.type)->convert(matrix); }

}  // namespace inferflux::compute
