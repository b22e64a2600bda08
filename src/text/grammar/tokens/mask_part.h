// The tokens that fit into some innermost rules of a grammar from one position in them: masks are composed of these
// parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/token_id.h"
#include "base/token_mask.h"

namespace inferflux::text {

struct MaskPart {
  std::vector<TokenId> few;         // these,
  std::unique_ptr<TokenMask> many;  // or, if there are many, these
  std::vector<uint32_t> exits;      // trie nodes where the rules may end, after which longer tokens continue
  bool too_many_exits = false;      // not worth keeping: it depends on the rules below too

  size_t bytes() const;
};

// Any thread. Clears itself when it becomes too large.
class MaskPartCache {
 public:
  using Key = std::vector<uint32_t>;

  std::shared_ptr<const MaskPart> Find(const Key& key) const;  // null if absent
  void Keep(const Key& key, const std::shared_ptr<const MaskPart>& part);

 private:
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  mutable std::mutex mutex_;  // guards everything below
  std::unordered_map<Key, std::shared_ptr<const MaskPart>, Hash> parts_;
  size_t bytes_ = 0;
};

}  // namespace inferflux::text
