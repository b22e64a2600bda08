// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): spreads every bit of a word over the whole word. A
// bijection.
#pragma once

#include <cstdint>

namespace inferflux {

inline uint64_t Mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace inferflux
