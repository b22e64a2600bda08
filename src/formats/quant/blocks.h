// The layouts of quantised blocks, byte for byte as in GGUF files.
//
// Names: d and dmin are the block's scale and minimum, qs its packed values, qh their high bits, scales the packed
// scales of sub-blocks. Source: ggml's block formats, as PyPI's `gguf` decodes them.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace inferflux::formats {

// Elements of a block: of the small types, and of the super-blocks ("K types" and "I types").
inline constexpr int kSmallBlock = 32;
inline constexpr int kSuperBlock = 256;

struct BlockQ4_0 {  // value = d * (q - 8); element i is the low nibble of qs[i], element i + 16 its high one
  Fp16 d;
  uint8_t qs[16];
};
struct BlockQ4_1 {  // value = d * q + m
  Fp16 d;
  Fp16 m;
  uint8_t qs[16];
};
struct BlockQ5_0 {  // as Q4_0, value = d * (q - 16); bit i of qh is the fifth bit of element i
  Fp16 d;
  uint8_t qh[4];
  uint8_t qs[16];
};
struct BlockQ5_1 {
  Fp16 d;
  Fp16 m;
  uint8_t qh[4];
  uint8_t qs[16];
};
struct BlockQ8_0 {  // value = d * q
  Fp16 d;
  int8_t qs[32];
};

struct BlockQ2_K {  // 16 sub-blocks of 16: value = d * (scale & 15) * q - dmin * (scale >> 4)
  uint8_t scales[16];
  uint8_t qs[64];
  Fp16 d;
  Fp16 dmin;
};
struct BlockQ3_K {  // 16 sub-blocks of 16: value = d * (scale - 32) * (q - (4 where the bit of hmask is clear))
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  Fp16 d;
};
struct BlockQ4_K {  // 8 sub-blocks of 32: value = d * scale * q - dmin * min; 6-bit scales and mins (k_scales.h)
  Fp16 d;
  Fp16 dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};
struct BlockQ5_K {  // as Q4_K; bit j of qh[i] is the fifth bit of element i of sub-block j
  Fp16 d;
  Fp16 dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
struct BlockQ6_K {  // 16 sub-blocks of 16: value = d * scale * (q - 32)
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  Fp16 d;
};
struct BlockQ8_K {  // value = d * q; bsums are the sums of 16 values each. For activations only, not in files
  float d;
  int8_t qs[256];
  int16_t bsums[16];
};

struct BlockTq1_0 {  // ternary, five values a byte (base 3, scaled to 0-255): value = d * (trit - 1)
  uint8_t qs[48];
  uint8_t qh[4];  // the last 16 values, four a byte
  Fp16 d;
};
struct BlockTq2_0 {  // ternary, two bits a value: value = d * (q - 1)
  uint8_t qs[64];
  Fp16 d;
};

struct BlockIq4Nl {  // value = d * kIq4Values[q]
  Fp16 d;
  uint8_t qs[16];
};
struct BlockIq4Xs {  // 8 sub-blocks of 32: value = d * (scale - 32) * kIq4Values[q]
  Fp16 d;
  uint16_t scales_h;  // two high bits of each scale
  uint8_t scales_l[4];
  uint8_t qs[128];
};
struct BlockMxfp4 {  // OCP microscaling: value = 2^(e - 128) * kFp4Doubled[q]
  uint8_t e;
  uint8_t qs[16];
};
struct BlockNvfp4 {  // 4 sub-blocks of 16: value = e4m3(scale) / 2 * kFp4Doubled[q]
  uint8_t scales[4];
  uint8_t qs[32];
};

struct BlockIq2Xxs {  // 8 sub-blocks of 32: four grid indices, four 7-bit sign indices and a 4-bit scale in 8 bytes
  Fp16 d;
  uint8_t qs[64];
};
struct BlockIq2Xs {  // 32 groups of 8: a 9-bit grid index and a 7-bit sign index each; 4-bit scales of 16 values
  Fp16 d;
  uint16_t qs[32];
  uint8_t scales[8];
};
struct BlockIq2S {  // 32 groups of 8: a 10-bit grid index, eight signs; 4-bit scales of 16 values
  Fp16 d;
  uint8_t qs[32];
  uint8_t signs[32];
  uint8_t qh[8];
  uint8_t scales[8];
};
struct BlockIq3Xxs {  // 64 groups of 4: grid indices; then, for 32 values, four 7-bit sign indices and a 4-bit scale
  Fp16 d;
  uint8_t qs[64];
  uint8_t scales_signs[32];
};
struct BlockIq3S {  // 64 groups of 4: 9-bit grid indices, signs; 4-bit scales of 32 values
  Fp16 d;
  uint8_t qs[64];
  uint8_t qh[8];
  uint8_t signs[32];
  uint8_t scales[4];
};
struct BlockIq1S {  // 32 groups of 8: 11-bit grid indices; qh has the high bits, a 3-bit scale and the shift's sign
  Fp16 d;
  uint8_t qs[32];
  uint16_t qh[8];
};
struct BlockIq1M {  // as IQ1_S, with scales of 16 values and a shift's sign of 8; d is in the top nibbles of the scales
  uint8_t qs[32];
  uint8_t qh[16];
  uint16_t scales[4];
};

inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr int8_t kFp4Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static_assert(sizeof(BlockQ4_0) == 18);
static_assert(sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22);
static_assert(sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ8_0) == 34);
static_assert(sizeof(BlockQ2_K) == 84);
static_assert(sizeof(BlockQ3_K) == 110);
static_assert(sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176);
static_assert(sizeof(BlockQ6_K) == 210);
static_assert(sizeof(BlockQ8_K) == 292);
static_assert(sizeof(BlockTq1_0) == 54);
static_assert(sizeof(BlockTq2_0) == 66);
static_assert(sizeof(BlockIq4Nl) == 18);
static_assert(sizeof(BlockIq4Xs) == 136);
static_assert(sizeof(BlockMxfp4) == 17);
static_assert(sizeof(BlockNvfp4) == 36);
static_assert(sizeof(BlockIq2Xxs) == 66);
static_assert(sizeof(BlockIq2Xs) == 74);
static_assert(sizeof(BlockIq2S) == 82);
static_assert(sizeof(BlockIq3Xxs) == 98);
static_assert(sizeof(BlockIq3S) == 110);
static_assert(sizeof(BlockIq1S) == 50);
static_assert(sizeof(BlockIq1M) == 56);

}  // namespace inferflux::formats
