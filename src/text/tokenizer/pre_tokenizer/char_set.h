// A set of characters.
#pragma once

#include <vector>

namespace inferflux::text {

class CharSet {
 public:
  void Insert(char32_t code) {
    if (code > kMaxCode) return;
    if (bits_.size() <= code) bits_.resize(code + 1);
    bits_[code] = true;
  }
  bool Contains(char32_t code) const { return code < bits_.size() && bits_[code]; }

 private:
  static constexpr char32_t kMaxCode = 0x10FFFF;
  std::vector<bool> bits_;
};

}  // namespace inferflux::text
