// Sizes in which an arena hands out memory, so that a piece that is free again fits other requests.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace inferflux::compute {

// Four classes for each doubling, numbered upwards: a request wastes at most a fifth of its piece.
struct SizeClass {
  static constexpr size_t kCount = 4 * 64 + 1;

  size_t bytes;
  size_t number;

  // The least class that holds `least` bytes, and `smallest`, which is a power of two and at least 4.
  SizeClass(size_t least, size_t smallest) {
    const size_t below = std::bit_floor(std::max(smallest, least));
    const size_t quarters = least > below ? (least - below + below / 4 - 1) / (below / 4) : 0;
    bytes = below + quarters * (below / 4);
    number = 4 * static_cast<size_t>(std::countr_zero(below)) + quarters;
  }

  // Of a class that a request has had.
  static size_t BytesOf(size_t number) {
    const size_t below = size_t{1} << number / 4;
    return below + number % 4 * (below / 4);
  }
};

}  // namespace inferflux::compute
