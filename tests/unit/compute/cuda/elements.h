// Vectors of floats as elements of a type, and back: what a kernel's input is after it was rounded to the type.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "base/half.h"

namespace inferflux::cuda::testing {

template <class T>
T Round(float value) {
  if constexpr (std::is_same_v<T, Fp16>) {
    return ToFp16(value);
  } else if constexpr (std::is_same_v<T, Bf16>) {
    return ToBf16(value);
  } else {
    return value;
  }
}

template <class T>
std::vector<T> Rounded(const std::vector<float>& values) {
  std::vector<T> out;
  for (const float value : values) out.push_back(Round<T>(value));
  return out;
}

template <class T>
std::vector<T> RandomElements(std::mt19937& random, size_t count, float deviation = 1.0f) {
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<T> out(count);
  for (T& value : out) value = Round<T>(normal(random));
  return out;
}

// The distance of neighbours of T near 1.
template <class T>
constexpr double kStep = std::is_same_v<T, Fp16>   ? 0x1p-10
                         : std::is_same_v<T, Bf16> ? 0x1p-7
                                                   : 0x1p-23;

// `steps` roundings to T of a value of the size of `expected` or of `scale`.
template <class T>
bool Near(T value, double expected, double steps, double scale = 0.0) {
  return std::abs(double{ToFloat(value)} - expected) <= steps * kStep<T> * std::max(std::abs(expected), scale);
}

}  // namespace inferflux::cuda::testing
