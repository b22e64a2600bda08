// Byte-pair encoding's inner loop: of all adjacent pairs that may merge, merges the best one, the leftmost among
// equals, until no pair may merge (Sennrich, Haddow and Birch 2016). O(n log n) in the word's length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/token_id.h"
#include "base/work_budget/work_budget.h"

namespace inferflux::text {

// A piece of the word being merged.
struct BpeSymbol {
  TokenId id;      // the token of the piece so far
  uint32_t begin;  // bytes, in the word
  uint32_t size;
  int32_t previous = -1;  // neighbours' indices; -1: none
  int32_t next = -1;
};

struct BpeMerge {
  uint32_t priority;  // lower merges first
  TokenId id;         // the merged piece
};
constexpr uint32_t kNoMerge = UINT32_MAX;

class BpeMerger {
 public:
  // The word's first pieces, left to right; only id, begin and size need to be set. Clear() starts another word.
  std::vector<BpeSymbol>& symbols() { return symbols_; }
  void Clear() { symbols_.clear(); }

  // Merges in place: afterwards symbols() holds the remaining pieces, in order. `lookup(left, right)` returns a
  // BpeMerge, with priority kNoMerge if the two do not merge. Stops early once the thread's WorkBudget is spent.
  template <class Lookup>
  void Run(const Lookup& lookup) {
    if (symbols_.size() <= kScanLimit) {
      Scan(lookup);
    } else {
      Heap(lookup);
    }
  }

 private:
  // Below this many symbols, checking every pair again is faster than maintaining a heap.
  static constexpr size_t kScanLimit = 24;

  struct Candidate {
    uint64_t order;  // priority, then position
    TokenId id;
    int32_t right;
    uint32_t size;  // of both together; if it differs now, one of them has merged since
    bool operator>(const Candidate& other) const { return order > other.order; }
  };

  template <class Lookup>
  void Scan(const Lookup& lookup) {
    auto& s = symbols_;
    if (s.size() < 2) return;
    BpeMerge pair[kScanLimit];
    for (size_t i = 0; i + 1 < s.size(); ++i) pair[i] = lookup(s[i], s[i + 1]);
    for (;;) {
      const size_t pairs = s.size() - 1;
      size_t best = 0;
      uint32_t priority = kNoMerge;
      for (size_t i = 0; i < pairs; ++i) {
        if (pair[i].priority < priority) {
          priority = pair[i].priority;
          best = i;
        }
      }
      if (priority == kNoMerge) return;
      s[best].id = pair[best].id;
      s[best].size += s[best + 1].size;
      s.erase(s.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      std::move(pair + best + 1, pair + pairs, pair + best);
      if (best > 0) pair[best - 1] = lookup(s[best - 1], s[best]);
      if (best + 1 < s.size()) pair[best] = lookup(s[best], s[best + 1]);
    }
  }

  template <class Lookup>
  void Heap(const Lookup& lookup) {
    auto& s = symbols_;
    const auto count = static_cast<int32_t>(s.size());
    heap_.clear();
    for (int32_t i = 0; i < count; ++i) {
      s[i].previous = i - 1;
      s[i].next = i + 1 < count ? i + 1 : -1;
    }
    for (int32_t i = 0; i + 1 < count && !WorkBudget::Spent(); ++i) Push(lookup, i, i + 1, /*sift=*/false);
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    while (!heap_.empty() && !WorkBudget::Spent(4)) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const Candidate best = heap_.back();
      heap_.pop_back();
      const auto left = static_cast<int32_t>(best.order & UINT32_MAX);
      if (s[left].size == 0 || s[left].next != best.right || s[left].size + s[best.right].size != best.size) continue;
      s[left].id = best.id;
      s[left].size = best.size;
      s[left].next = s[best.right].next;
      s[best.right].size = 0;
      if (s[left].next >= 0) s[s[left].next].previous = left;
      if (s[left].previous >= 0) Push(lookup, s[left].previous, left, /*sift=*/true);
      if (s[left].next >= 0) Push(lookup, left, s[left].next, /*sift=*/true);
    }
    std::erase_if(s, [](const BpeSymbol& symbol) { return symbol.size == 0; });
  }

  template <class Lookup>
  void Push(const Lookup& lookup, int32_t left, int32_t right, bool sift) {
    const BpeMerge merge = lookup(symbols_[left], symbols_[right]);
    if (merge.priority == kNoMerge) return;
    heap_.push_back({(static_cast<uint64_t>(merge.priority) << 32) | static_cast<uint32_t>(left), merge.id, right,
                     symbols_[left].size + symbols_[right].size});
    if (sift) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  std::vector<BpeSymbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace inferflux::text
