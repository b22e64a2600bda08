// Which KV blocks are held, and by how many sequences. A block is held (references > 0), cached (no references, but its
// content may be matched again; the least recently used is evicted first), or free. The pool has numbers only: the
// compute backend stores the KV.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace inferflux::engine {

class BlockPool {
 public:
  struct Taken {
    int32_t block = 0;
    bool evicted = false;  // it was cached: the caller must remove it from the index
  };

  explicit BlockPool(int32_t blocks);

  // Returns a block with one reference: a free one, else the least recently used cached one; nothing if all are held.
  std::optional<Taken> Take();

  // Adds a reference to a held or cached block.
  void Share(int32_t block);

  // Removes a reference. A block without references becomes the most recently used cached one, or free.
  void Release(int32_t block, bool keep_cached);

  int32_t references(int32_t block) const { return entries_[static_cast<size_t>(block)].references; }
  int32_t total() const { return static_cast<int32_t>(entries_.size()) - 1; }
  int32_t free() const { return static_cast<int32_t>(free_.size()); }
  int32_t cached() const { return cached_; }
  int32_t held() const { return total() - free() - cached(); }
  int32_t available() const { return free() + cached(); }

 private:
  enum class State { kFree, kHeld, kCached };
  struct Entry {
    State state = State::kFree;
    int32_t references = 0;
    int32_t older = 0;  // neighbours in the list of cached blocks
    int32_t newer = 0;
  };

  void Unlink(int32_t block);

  // One entry per block, then the sentinel of the circular list: its `newer` is the least recently used block.
  std::vector<Entry> entries_;
  std::vector<int32_t> free_;
  int32_t cached_ = 0;
};

}  // namespace inferflux::engine
