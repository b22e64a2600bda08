#include "text/tokenizer/algorithms/merge_table.h"

#include <bit>

#include "text/tokenizer/hash.h"

namespace inferflux::text {
namespace {

uint64_t KeyOf(TokenId left, TokenId right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(size_t merges) : slots_(std::bit_ceil(2 * merges + 2)) {}

size_t MergeTable::FindSlot(uint64_t key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = MixHash(key, 0) & mask;
  while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask;
  return at;
}

void MergeTable::Insert(TokenId left, TokenId right, BpeMerge merge) {
  Slot& slot = slots_[FindSlot(KeyOf(left, right))];
  if (slot.key == kEmpty) slot = {KeyOf(left, right), merge};
}

BpeMerge MergeTable::Find(TokenId left, TokenId right) const { return slots_[FindSlot(KeyOf(left, right))].merge; }

}  // namespace inferflux::text
