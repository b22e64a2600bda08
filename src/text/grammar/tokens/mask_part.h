// The tokens that fit into some innermost rules of a grammar, from one place in them: what masks are composed of.
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
  std::unique_ptr<TokenMask> many;  // or where they are many, these
  std::vector<uint32_t> exits;      // nodes of the tree where the rules may end, and longer tokens go on behind them
  bool too_many_exits = false;      // not worth keeping: the rules below belong to it too

  size_t bytes() const;
};

// Any thread. Forgets everything where it has become too large.
class MaskPartCache {
 public:
  using Key = std::vector<uint32_t>;

  std::shared_ptr<const MaskPart> Find(const Key& key) const;  // null where it is not there
  void Keep(const Key& key, const std::shared_ptr<const MaskPart>& part);

 private:
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  mutable std::mutex mutex_;  // what follows
  std::unordered_map<Key, std::shared_ptr<const MaskPart>, Hash> parts_;
  size_t bytes_ = 0;
};

}  // namespace inferflux::text
