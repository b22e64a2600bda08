// A cache of recently tokenised words, so that a common word costs one look-up. A cache lives for one call: no locks,
// no memory that outlives the text. Direct-mapped and bounded: a new word replaces the one in its slot.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "text/tokenizer/hash.h"

namespace inferflux::text {

class WordCache {
 public:
  // Sized for a text with that many bytes. Words must keep their addresses as long as the cache is used.
  explicit WordCache(size_t text_bytes) {
    size_t slots = 64;
    while (slots < kMaxSlots && slots < text_bytes / 8) slots *= 2;
    slots_.resize(slots);
  }

  // Copies the tokens of `word` to `out`; false if it is unknown.
  bool Find(std::string_view word, std::vector<TokenId>& out) {
    hash_ = HashBytes(word);
    const Slot& slot = slots_[hash_ & (slots_.size() - 1)];
    if (slot.word != word || slot.count == 0) return false;
    out.insert(out.end(), tokens_.begin() + slot.begin, tokens_.begin() + slot.begin + slot.count);
    return true;
  }

  // Stores the word of the last call of Find.
  void Insert(std::string_view word, std::span<const TokenId> tokens) {
    if (tokens.empty() || tokens.size() > kMaxWordTokens) return;
    if (tokens_.size() + tokens.size() > kMaxTokens) {
      tokens_.clear();
      slots_.assign(slots_.size(), Slot{});
    }
    slots_[hash_ & (slots_.size() - 1)] = {word, static_cast<uint32_t>(tokens_.size()),
                                           static_cast<uint32_t>(tokens.size())};
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }

 private:
  static constexpr size_t kMaxSlots = size_t{1} << 15;
  static constexpr size_t kMaxTokens = size_t{1} << 18;
  static constexpr size_t kMaxWordTokens = 32;

  struct Slot {
    std::string_view word;
    uint32_t begin = 0;
    uint32_t count = 0;
  };

  std::vector<Slot> slots_;
  std::vector<TokenId> tokens_;
  uint64_t hash_ = 0;
};

}  // namespace inferflux::text
