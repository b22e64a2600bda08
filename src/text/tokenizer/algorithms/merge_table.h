// The pairs that byte-pair encoding may merge, by the two pieces' ids.
#pragma once

#include <cstdint>
#include <vector>

#include "text/tokenizer/algorithms/bpe_merger.h"

namespace inferflux::text {

class MergeTable {
 public:
  // Reserves memory for `merges` pairs.
  explicit MergeTable(size_t merges);

  // The first merge of a pair is kept. Do not add more pairs than were reserved.
  void Insert(TokenId left, TokenId right, BpeMerge merge);

  BpeMerge Find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    uint64_t key = kEmpty;
    BpeMerge merge = {kNoMerge, 0};
  };
  static constexpr uint64_t kEmpty = UINT64_MAX;

  size_t FindSlot(uint64_t key) const;

  std::vector<Slot> slots_;
};

}  // namespace inferflux::text
