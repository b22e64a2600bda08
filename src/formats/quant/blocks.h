// The layouts of quantised blocks, byte for byte as GGUF files hold them.
//
// Names: d and dmin are the block's scale and minimum, qs its packed values, qh their high bits, scales the packed
// scales of sub-blocks. Source: ggml's block formats, as PyPI's `gguf` decodes them.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace inferflux::formats {

// Elements of a block: of the small types, and of the super-blocks ("K-quants" and "I-quants").
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
struct BlockQ8_K {  // value = d * q; bsums are the sums of each 16 values. Not a type of files: activations only
  float d;
  int8_t qs[256];
  int16_t bsums[16];
};

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

}  // namespace inferflux::formats
