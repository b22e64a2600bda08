#include "text/tokenizer/token_map.h"

#include "text/tokenizer/hash.h"

namespace inferflux::text {

size_t TokenMap::FindSlot(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  size_t at = hash & mask;
  while (slots_[at].id != kNoToken && (slots_[at].tag != tag || (*strings_)[slots_[at].id] != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

void TokenMap::Insert(TokenId id) {
  if (2 * (used_ + 1) > slots_.size()) Grow();
  const std::string_view text = (*strings_)[id];
  const uint64_t hash = HashBytes(text);
  Slot& slot = slots_[FindSlot(text, hash)];
  if (slot.id != kNoToken) return;
  slot = {static_cast<uint32_t>(hash >> 32), id};
  ++used_;
}

TokenId TokenMap::Find(std::string_view text) const {
  if (slots_.empty()) return kNoToken;
  return slots_[FindSlot(text, HashBytes(text))].id;
}

void TokenMap::Grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.empty() ? 1024 : old.size() * 2, Slot{});
  for (const Slot& slot : old) {
    if (slot.id == kNoToken) continue;
    const std::string_view text = (*strings_)[slot.id];
    slots_[FindSlot(text, HashBytes(text))] = slot;
  }
}

}  // namespace inferflux::text
