// Numbers for sets of states, in the order in which they are met: the subset construction's table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inferflux::text {

// All sets share one array, so that a new one allocates nothing of its own.
class SubsetNumbers {
 public:
  size_t size() const { return begins_.size() - 1; }

  // Valid until the next Of().
  std::span<const uint32_t> at(uint32_t number) const {
    return std::span(states_).subspan(begins_[number], begins_[number + 1] - begins_[number]);
  }

  // The number of a set, whose states ascend: that of an equal one, or the next.
  uint32_t Of(std::span<const uint32_t> set) {
    if (2 * (size() + 1) > slots_.size()) Grow();
    const uint64_t hash = HashOf(set);
    size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != kFree; slot = (slot + 1) & (slots_.size() - 1)) {
      const uint32_t number = slots_[slot];
      if (hashes_[number] == hash && std::ranges::equal(at(number), set)) return number;
    }
    slots_[slot] = static_cast<uint32_t>(size());
    hashes_.push_back(hash);
    states_.insert(states_.end(), set.begin(), set.end());
    begins_.push_back(states_.size());
    return slots_[slot];
  }

 private:
  static constexpr uint32_t kFree = ~uint32_t{0};

  static uint64_t HashOf(std::span<const uint32_t> set) {
    uint64_t hash = set.size();
    for (const uint32_t state : set) hash = (hash ^ state) * 0x9E37'79B9'7F4A'7C15 + (hash >> 29);
    return hash ^ (hash >> 32);
  }

  void Grow() {
    slots_.assign(std::max<size_t>(64, 2 * slots_.size()), kFree);
    for (uint32_t number = 0; number < size(); ++number) {
      size_t slot = hashes_[number] & (slots_.size() - 1);
      while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = number;
    }
  }

  std::vector<uint32_t> states_;
  std::vector<size_t> begins_ = {0};  // of each set in states_, and their end
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> slots_;  // open addressing, at most half full
};

}  // namespace inferflux::text
