// Many random operations on a BlockManager, compared with a naive model: what every sequence reads back through its
// block table is what it wrote, whatever was shared, copied, evicted or refused in between.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "engine/kv_blocks/block_manager.h"

namespace inferflux::engine {
namespace {

constexpr int32_t kBlocks = 24;
constexpr int32_t kBlockSize = 4;
constexpr int32_t kSequences = 7;

// A token's KV depends on everything before it and on the salt that it was computed under.
using Kv = std::vector<int64_t>;

class Life {
 public:
  explicit Life(uint32_t seed)
      : random_(seed), store_(kBlocks, kBlockSize, kSequences), memory_(kBlocks * kBlockSize) {}

  void Step() {
    switch (Below(10)) {
      case 0:
      case 1:
        return Open();
      case 2:
        return Fork();
      case 3:
      case 4:
        return Close();
      case 5:
        return Truncate();
      default:
        return Grow();
    }
  }

  void Check() {
    std::vector<int32_t> references(kBlocks, 0);
    for (const auto& own : live_) {
      const auto found = store_.Find(own.id);
      ASSERT_TRUE(found);
      ASSERT_EQ((*found)->tokens, own.tokens);
      for (size_t i = 0; i < own.tokens.size(); ++i) {
        const size_t slot = static_cast<size_t>((*found)->blocks[i / kBlockSize]) * kBlockSize + i % kBlockSize;
        ASSERT_EQ(memory_[slot], KvOf(own, i + 1)) << "token " << i << " of a sequence reads somebody else's KV";
      }
      for (const int32_t block : (*found)->blocks) ++references[block];
    }
    int32_t held = 0;
    for (int32_t block = 0; block < kBlocks; ++block) {
      ASSERT_EQ(store_.pool().references(block), references[block]);
      held += references[block] > 0 ? 1 : 0;
    }
    const KvUsage usage = store_.usage();
    ASSERT_EQ(usage.blocks_used, held);
    ASSERT_EQ(usage.blocks_used + usage.blocks_cached + usage.blocks_free, kBlocks);
    ASSERT_GE(store_.index().size(), static_cast<size_t>(usage.blocks_cached));
  }

  void CloseAll() {
    while (!live_.empty()) Close();
    ASSERT_EQ(store_.usage().blocks_used, 0);
    ASSERT_EQ(static_cast<int64_t>(store_.index().size()), store_.usage().blocks_cached);
  }

  int64_t cached_tokens = 0;
  int64_t copies = 0;
  int64_t refusals = 0;

 private:
  struct Own {
    SequenceId id;
    uint64_t salt = 0;
    std::vector<TokenId> tokens;
  };

  int32_t Below(int32_t limit) { return std::uniform_int_distribution<int32_t>(0, limit - 1)(random_); }
  Own& Any() { return live_[static_cast<size_t>(Below(static_cast<int32_t>(live_.size())))]; }

  static Kv KvOf(const Own& own, size_t length) {
    Kv kv(own.tokens.begin(), own.tokens.begin() + static_cast<std::ptrdiff_t>(length));
    kv.push_back(static_cast<int64_t>(own.salt));
    return kv;
  }

  void Open() {
    std::vector<TokenId> tokens;
    for (int32_t i = Below(40); i >= 0; --i) tokens.push_back(Below(12) == 0 ? 1 : 0);  // few branches: many hits
    const uint64_t salt = static_cast<uint64_t>(Below(2));
    const auto match = store_.Open(tokens, salt);
    if (live_.size() == kSequences) {
      ASSERT_FALSE(match);
      return;
    }
    ASSERT_TRUE(match);
    ASSERT_LT(match->cached_tokens, static_cast<int32_t>(tokens.size()));
    cached_tokens += match->cached_tokens;
    tokens.resize(static_cast<size_t>(match->cached_tokens));
    live_.push_back({.id = match->sequence, .salt = salt, .tokens = tokens});
  }

  void Fork() {
    if (live_.empty()) return;
    const Own source = Any();
    const auto fork = store_.Fork(source.id);
    ASSERT_EQ(fork.has_value(), live_.size() < kSequences);
    if (fork) live_.push_back({.id = *fork, .salt = source.salt, .tokens = source.tokens});
  }

  void Close() {
    if (live_.empty()) return;
    Own& own = Any();
    ASSERT_TRUE(store_.Close(own.id));
    ASSERT_FALSE(store_.Close(own.id));
    std::swap(own, live_.back());
    live_.pop_back();
  }

  void Truncate() {
    if (live_.empty()) return;
    Own& own = Any();
    const int32_t length = Below(static_cast<int32_t>(own.tokens.size()) + 1);
    ASSERT_TRUE(store_.Truncate(own.id, length));
    own.tokens.resize(static_cast<size_t>(length));
  }

  void Grow() {
    if (live_.empty()) return;
    Own& own = Any();
    const auto length = static_cast<int32_t>(own.tokens.size());
    const int32_t more = 1 + Below(10);
    const auto reserved = store_.Reserve(own.id, length + more);
    if (!reserved) {
      ++refusals;
      return;
    }
    if (*reserved) {
      ++copies;
      for (int32_t i = 0; i < kBlockSize; ++i) {
        memory_[(*reserved)->to * kBlockSize + i] = memory_[(*reserved)->from * kBlockSize + i];
      }
    }
    ASSERT_TRUE(store_.CheckWritable(own.id, more));
    if (Below(8) == 0) return;  // a step that failed, or a preemption right after
    const Sequence& sequence = **store_.Find(own.id);
    std::vector<TokenId> added;
    for (int32_t i = 0; i < more; ++i) {
      added.push_back(Below(12) == 0 ? 1 : 0);
      own.tokens.push_back(added.back());
      const auto at = static_cast<size_t>(length + i);
      memory_[static_cast<size_t>(sequence.blocks[at / kBlockSize]) * kBlockSize + at % kBlockSize] = KvOf(own, at + 1);
    }
    ASSERT_TRUE(store_.Commit(own.id, added));
  }

  std::mt19937 random_;
  BlockManager store_;
  std::vector<Kv> memory_;  // [slot]
  std::vector<Own> live_;
};

TEST(KvStoreRandom, EverySequenceReadsItsOwnKvAndNothingLeaks) {
  int64_t cached_tokens = 0, copies = 0, refusals = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Life life(seed);
    for (int step = 0; step < 3000; ++step) {
      life.Step();
      if (step % 7 == 0) life.Check();
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", step " << step;
    }
    life.CloseAll();
    cached_tokens += life.cached_tokens;
    copies += life.copies;
    refusals += life.refusals;
  }
  EXPECT_GT(cached_tokens, 10000) << "the test must exercise sharing";
  EXPECT_GT(copies, 1000);
  EXPECT_GT(refusals, 100);
}

}  // namespace
}  // namespace inferflux::engine
