// Python's random.Random: the same samples and orders from the same seeds, so that optimisers choose the demonstrations
// that Python's dspy chooses.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace inferflux::dspy {

// The Mersenne Twister (Matsumoto and Nishimura, 1998, MT19937), seeded as CPython's Modules/_randommodule.c does.
class PythonRandom {
 public:
  explicit PythonRandom(uint64_t seed);

  double Next();                   // random(): 53 bits in [0, 1)
  uint64_t Below(uint64_t limit);  // randrange(limit), limit > 0
  // sample(range(count), size): `size` of the numbers below `count`, at most that many.
  std::vector<size_t> Sample(size_t count, size_t size);

  template <class T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i-- > 1;) std::swap(items[i], items[Below(i + 1)]);
  }

 private:
  static constexpr size_t kWords = 624;

  void Seed(std::span<const uint32_t> key);
  uint32_t Word();
  uint64_t Bits(unsigned count);  // at most 64

  std::array<uint32_t, kWords> state_;
  size_t at_ = kWords;
};

}  // namespace inferflux::dspy
