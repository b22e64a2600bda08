// Maps a string to its token: open addressing over strings that the caller owns.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "text/tokenizer/string_pool.h"

namespace inferflux::text {

constexpr TokenId kNoToken = -1;

class TokenMap {
 public:
  // `strings` must outlive the map; tokens are indices into it.
  explicit TokenMap(const StringPool& strings) : strings_(&strings) {}

  // Adds strings[id], unless a token with that text exists already: the first one is kept.
  void Insert(TokenId id);

  // kNoToken if nothing has this text.
  TokenId Find(std::string_view text) const;

 private:
  struct Slot {
    uint32_t tag = 0;  // more bits of the hash, to compare few strings
    TokenId id = kNoToken;
  };

  void Grow();
  size_t FindSlot(std::string_view text, uint64_t hash) const;

  const StringPool* strings_;
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace inferflux::text
