#include "dspy/python/python_random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

namespace inferflux::dspy {

PythonRandom::PythonRandom(uint64_t seed) {
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  Seed(std::span(key).first(key[1] == 0 ? 1 : 2));
}

// init_by_array of the reference implementation.
void PythonRandom::Seed(std::span<const uint32_t> key) {
  state_[0] = 19650218;
  for (uint32_t i = 1; i < kWords; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  size_t i = 1;
  const auto mix = [&](uint32_t factor) { return state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * factor); };
  const auto step = [&] {
    if (++i < kWords) return;
    state_[0] = state_[kWords - 1];
    i = 1;
  };
  for (size_t k = 0, j = 0; k < std::max(kWords, key.size()); ++k, j = (j + 1) % key.size()) {
    state_[i] = mix(1664525u) + key[j] + static_cast<uint32_t>(j);
    step();
  }
  for (size_t k = 0; k < kWords - 1; ++k) {
    state_[i] = mix(1566083941u) - static_cast<uint32_t>(i);
    step();
  }
  state_[0] = 0x80000000u;
}

uint32_t PythonRandom::Word() {
  if (at_ == kWords) {
    for (size_t i = 0; i < kWords; ++i) {
      const uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kWords] & 0x7FFFFFFFu);
      state_[i] = state_[(i + 397) % kWords] ^ (y >> 1) ^ ((y & 1) ? 0x9908B0DFu : 0u);
    }
    at_ = 0;
  }
  uint32_t y = state_[at_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9D2C5680u;
  y ^= (y << 15) & 0xEFC60000u;
  return y ^ (y >> 18);
}

double PythonRandom::Next() {
  const uint32_t high = Word() >> 5;
  const uint32_t low = Word() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

uint64_t PythonRandom::Bits(unsigned count) {
  if (count <= 32) return Word() >> (32 - count);
  const uint64_t low = Word();
  return low | (static_cast<uint64_t>(Word() >> (64 - count)) << 32);
}

uint64_t PythonRandom::Below(uint64_t limit) {
  const auto bits = static_cast<unsigned>(std::bit_width(limit));
  uint64_t number = Bits(bits);
  while (number >= limit) number = Bits(bits);
  return number;
}

std::vector<size_t> PythonRandom::Sample(size_t count, size_t size) {
  size = std::min(size, count);
  std::vector<size_t> chosen(size);
  size_t set_size = 21;  // of a small set, less an empty list
  if (size > 5) set_size += static_cast<size_t>(std::pow(4, std::ceil(std::log(size * 3.0) / std::log(4.0))));
  if (count <= set_size) {
    std::vector<size_t> pool(count);
    for (size_t i = 0; i < count; ++i) pool[i] = i;
    for (size_t i = 0; i < size; ++i) {
      const size_t j = Below(count - i);
      chosen[i] = pool[j];
      pool[j] = pool[count - i - 1];
    }
    return chosen;
  }
  std::unordered_set<size_t> seen;
  for (size_t& one : chosen) {
    do one = Below(count);
    while (!seen.insert(one).second);
  }
  return chosen;
}

}  // namespace inferflux::dspy
