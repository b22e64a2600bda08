// The peak rates of this instruction set: the loops that measure ceilings. kMeterSums independent sums hide the latency
// of the units. Included once per instruction set, after its lanes header.
#pragma once

#include <cstdint>

#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu {
namespace {

// Hides from the compiler that the sums never change.
template <class T>
inline void Opaque(T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

// step(sum, number of the step) on each of the sums, `rounds` times.
template <class Sum, class Step>
inline void Repeat(int64_t rounds, const Sum& zero, Step step) {
  Sum sums[kMeterSums];
  for (Sum& sum : sums) sum = zero;
  for (int64_t i = 0; i < rounds; i += 16) {
    asm volatile("" : : : "memory");  // forces a new read in each iteration
#pragma GCC unroll 16
    for (int repeat = 0; repeat < 16; ++repeat) {
      for (int s = 0; s < kMeterSums; ++s) sums[s] = step(sums[s], repeat * kMeterSums + s);
    }
  }
  for (const Sum& sum : sums) {
    Sum last = sum;
    Opaque(last);
  }
}

// If multiply and add are not fused, each reads its own operand: the compiler would compute a repeated one only once.
inline double Int8Rounds(int64_t rounds) {
  constexpr bool kFused = kSumsHoldOffsets;
  alignas(64) int8_t operands[kGroupBytes + kGroup * 16 * kMeterSums] = {};
  Opaque(operands);
  const Bytes weights = LoadBytes(operands);
  const Quad four = LoadQuad(operands);
  Repeat(rounds, StartSums(0), [&](const Sums& sum, int step) {
    return AddGroup(sum, weights, kFused ? four : LoadQuad(operands + kGroupBytes + kGroup * step));
  });
  return static_cast<double>(rounds) * kMeterSums * kPanel * kGroup * 2;
}

inline double FloatRounds(int64_t rounds) {
  alignas(64) float operands[kPanel] = {};
  Opaque(operands);
  const Floats factor = LoadFloats(operands);
  Repeat(rounds, ZeroFloats(), [&](const Floats& sum, int) { return Fma(factor, factor, sum); });
  return static_cast<double>(rounds) * kMeterSums * kPanel * 2;
}

inline double Bf16Rounds(int64_t rounds) {
  alignas(64) Bf16 operands[2 * kPanel] = {};
  Opaque(operands);
  const Bytes weights = LoadBytes(operands);
  const Two two = LoadTwo(operands);
  Repeat(rounds, ZeroFloats(), [&](const Floats& sum, int) { return DotBf16(sum, weights, two); });
  return static_cast<double>(rounds) * kMeterSums * kPanel * 2 * 2;
}

inline void ReadBytes(const std::byte* data, int64_t bytes, int64_t prefetch) {
  Bytes all[4] = {LoadBytes(data), LoadBytes(data), LoadBytes(data), LoadBytes(data)};
  for (int64_t at = 0; at + 256 <= bytes; at += 256) {
    for (int line = 0; line < 4; ++line) {
      __builtin_prefetch(data + at + prefetch + 64 * line, 0, 3);
      all[line] = Or(all[line], LoadBytes(data + at + 64 * line));
    }
  }
  for (Bytes& each : all) Opaque(each);
}

}  // namespace
}  // namespace inferflux::compute::cpu
