// The tokens that may be chosen: one bit for each id.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace inferflux {

class TokenMask {
 public:
  // Allows no id. Ids from `size` on are never allowed.
  explicit TokenMask(int32_t size = 0) : size_(size), words_((static_cast<size_t>(size) + 63) / 64) {}

  int32_t size() const { return size_; }
  void Allow(TokenId id) { words_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64); }
  void Forbid(TokenId id) { words_[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << (id % 64)); }
  bool Allows(TokenId id) const {
    return id >= 0 && id < size_ && (words_[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0;
  }
  // Also allows what `other`, of the same size, allows.
  void Add(const TokenMask& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  int64_t count() const {
    int64_t count = 0;
    for (const uint64_t word : words_) count += std::popcount(word);
    return count;
  }
  // 64 ids in a word, the lowest id in the lowest bit.
  std::span<const uint64_t> words() const { return words_; }

 private:
  int32_t size_;
  std::vector<uint64_t> words_;
};

}  // namespace inferflux
