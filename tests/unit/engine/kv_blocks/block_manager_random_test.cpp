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
  // `states`: slots for recurrent states; 0: a model without them.
  explicit Life(uint32_t seed, int32_t states = 0)
      : random_(seed),
        store_(kBlocks, kBlockSize, kSequences, states),
        memory_(kBlocks * kBlockSize),
        states_(static_cast<size_t>(states)) {}

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
      if (!store_.recurrent()) continue;
      ASSERT_EQ((*found)->state == Sequence::kNoState, own.tokens.empty());
      if (own.tokens.empty()) continue;
      ASSERT_EQ(states_[static_cast<size_t>((*found)->state)], KvOf(own, own.tokens.size()))
          << "a sequence continues the state of another sequence";
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
    ASSERT_EQ(store_.states().free() + store_.states().checkpoints(), std::ssize(states_)) << "a slot leaked";
  }

  int64_t cached_tokens = 0;
  int64_t copies = 0;
  int64_t refusals = 0;
  int64_t cuts = 0;

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
    const auto cut = store_.Truncate(own.id, length);
    ASSERT_TRUE(cut || (store_.recurrent() && length != 0 && cut.error().code == ErrorCode::kUnsupported));
    if (!cut) return;
    cuts += length > 0 && length < std::ssize(own.tokens) ? 1 : 0;
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
    StepState state;
    if (store_.recurrent()) {
      const auto begun = store_.BeginStep(own.id, more);
      ASSERT_TRUE(begun) << begun.error().message;
      state = *begun;
    }
    if (Below(8) == 0) return store_.AbandonStep(state);  // a step that failed, or a preemption right after
    const Sequence& sequence = **store_.Find(own.id);
    std::vector<TokenId> added;
    for (int32_t i = 0; i < more; ++i) {
      added.push_back(Below(12) == 0 ? 1 : 0);
      own.tokens.push_back(added.back());
      const auto at = static_cast<size_t>(length + i);
      memory_[static_cast<size_t>(sequence.blocks[at / kBlockSize]) * kBlockSize + at % kBlockSize] = KvOf(own, at + 1);
    }
    if (store_.recurrent()) {
      states_[static_cast<size_t>(state.to)] = KvOf(own, own.tokens.size());
      if (state.mark != Sequence::kNoState) {
        states_[static_cast<size_t>(state.mark)] = KvOf(own, static_cast<size_t>(length + state.marked_tokens));
      }
    }
    ASSERT_TRUE(store_.Commit(own.id, added, state));
  }

  std::mt19937 random_;
  BlockManager store_;
  std::vector<Kv> memory_;  // [slot]
  std::vector<Kv> states_;  // [slot of a recurrent state]
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

// Three slots for each sequence: checkpoints give way to steps all the time.
TEST(KvStoreRandom, EverySequenceContinuesItsOwnRecurrentState) {
  int64_t cached_tokens = 0, cuts = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Life life(seed, 3 * kSequences);
    for (int step = 0; step < 3000; ++step) {
      life.Step();
      if (step % 7 == 0) life.Check();
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", step " << step;
    }
    life.CloseAll();
    cached_tokens += life.cached_tokens;
    cuts += life.cuts;
  }
  EXPECT_GT(cached_tokens, 1000) << "the test must exercise checkpoints";
  EXPECT_GT(cuts, 100) << "and cuts at them";
}

}  // namespace
}  // namespace inferflux::engine
