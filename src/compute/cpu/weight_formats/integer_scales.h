// The blocks of IQ1, IQ2, IQ3 and ternary types as integers: value = d * scale * n, with an integer scale for each 16
// values. n is computed as the decoded value divided by d * scale, so the codebooks are not needed here; each has few
// magnitudes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "compute/cpu/weight_formats/panel.h"
#include "formats/quant/block_decoders.h"
#include "formats/quant/blocks.h"

namespace inferflux::compute::cpu {

struct IntegerScales {
  float d = 0;
  int8_t scales[kSubs16] = {};
  std::span<const int8_t> magnitudes;  // of n; empty for ternary types
};

inline constexpr int8_t kIq1Magnitudes[] = {1, 7, 9};  // eighths: -1, 0 or 1, shifted by an eighth
inline constexpr int8_t kIq2Magnitudes[] = {8, 25, 43};
inline constexpr int8_t kIq3XxsMagnitudes[] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr int8_t kIq3SMagnitudes[] = {1, 3, 5, 7, 9, 11, 13, 15};

namespace internal {

// An odd number from the bits of a scale: half steps, doubled.
inline int8_t Odd(int bits) { return static_cast<int8_t>(2 * bits + 1); }

// For 4-bit scales for 16 values, or for 32 (`wide`).
inline IntegerScales OddScales(float d, std::span<const int8_t> magnitudes, const uint8_t* nibbles, bool wide) {
  IntegerScales out{.d = d, .magnitudes = magnitudes};
  for (int s = 0; s < kSubs16; ++s) {
    const int i = wide ? s / 2 : s;
    out.scales[s] = Odd(nibbles[i / 2] >> (4 * (i % 2)) & 15);
  }
  return out;
}

// For scales in the top four bits of a word for 32 values; words are `step` bytes apart.
inline IntegerScales TopScales(float d, std::span<const int8_t> magnitudes, const uint8_t* words, int step) {
  IntegerScales out{.d = d, .magnitudes = magnitudes};
  for (int s = 0; s < kSubs16; ++s) out.scales[s] = Odd(words[s / 2 * step + 3] >> 4);
  return out;
}

inline IntegerScales NoScales(float d) {
  IntegerScales out{.d = d};
  std::fill_n(out.scales, kSubs16, int8_t{1});
  return out;
}

}  // namespace internal

inline IntegerScales IntegerScalesOf(const formats::BlockIq2Xxs& block) {
  return internal::TopScales(ToFloat(block.d) / 8, kIq2Magnitudes, block.qs + 4, 8);
}
inline IntegerScales IntegerScalesOf(const formats::BlockIq3Xxs& block) {
  return internal::TopScales(ToFloat(block.d) / 4, kIq3XxsMagnitudes, block.scales_signs, 4);
}
inline IntegerScales IntegerScalesOf(const formats::BlockIq2Xs& block) {
  return internal::OddScales(ToFloat(block.d) / 8, kIq2Magnitudes, block.scales, /*wide=*/false);
}
inline IntegerScales IntegerScalesOf(const formats::BlockIq2S& block) {
  return internal::OddScales(ToFloat(block.d) / 8, kIq2Magnitudes, block.scales, /*wide=*/false);
}
inline IntegerScales IntegerScalesOf(const formats::BlockIq3S& block) {
  return internal::OddScales(ToFloat(block.d), kIq3SMagnitudes, block.scales, /*wide=*/true);
}
inline IntegerScales IntegerScalesOf(const formats::BlockIq1S& block) {
  IntegerScales out{.d = ToFloat(block.d) / 8, .magnitudes = kIq1Magnitudes};
  for (int s = 0; s < kSubs16; ++s) out.scales[s] = internal::Odd(block.qh[s / 2] >> 12 & 7);
  return out;
}
inline IntegerScales IntegerScalesOf(const formats::BlockIq1M& block) {
  uint16_t d_bits = 0;
  for (int i = 0; i < 4; ++i) d_bits |= static_cast<uint16_t>((block.scales[i] >> 12) << (4 * i));
  IntegerScales out{.d = ToFloat(Fp16{d_bits}) / 8, .magnitudes = kIq1Magnitudes};
  for (int s = 0; s < kSubs16; ++s) out.scales[s] = internal::Odd(block.scales[s / 4] >> (s % 4 * 3) & 7);
  return out;
}
inline IntegerScales IntegerScalesOf(const formats::BlockTq1_0& block) { return internal::NoScales(ToFloat(block.d)); }
inline IntegerScales IntegerScalesOf(const formats::BlockTq2_0& block) { return internal::NoScales(ToFloat(block.d)); }

// The 256 values of a block as integers.
template <class Block>
void DecodeNumbers(const Block& from, const IntegerScales& scales, int (&numbers)[kChunk]) {
  float values[kChunk];
  formats::DecodeBlock(from, values);
  for (int i = 0; i < kChunk; ++i) {
    const float number =
        values[i] / (scales.d * static_cast<float>(scales.scales[i / 16]));  // few bits: exact, and an integer
    const bool sane = std::abs(number) < 64;                                 // false for 0 / 0 and for a broken scale
    numbers[i] = sane ? static_cast<int>(number) : 0;
  }
}

}  // namespace inferflux::compute::cpu
