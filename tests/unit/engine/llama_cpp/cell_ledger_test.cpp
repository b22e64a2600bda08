// Compares the ledger with a model of the library's cache that keeps every sequence's tokens, over random operations.
#include "engine/llama_cpp/cell_ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace inferflux::engine {
namespace {

using Tokens = std::vector<TokenId>;

// Models a unified cache: a cell holds one token and is shared by the sequences that were copied.
class FakeMemory final : public SequenceMemory {
 public:
  bool Cut(int32_t id, int32_t from) override {
    auto& cells = sequences[id];
    if (from > 0 && from < static_cast<int32_t>(cells.size()) && !cuts) return false;
    if (from < static_cast<int32_t>(cells.size())) cells.resize(static_cast<size_t>(from));
    return true;
  }
  void Copy(int32_t from, int32_t to, int32_t length) override {
    ASSERT_TRUE(sequences[to].empty());
    ASSERT_LE(length, static_cast<int32_t>(sequences[from].size()));
    sequences[to].assign(sequences[from].begin(), sequences[from].begin() + length);
  }
  void Append(int32_t id, const Tokens& tokens) {
    for (const TokenId token : tokens) sequences[id].emplace_back(next_cell++, token);
  }
  size_t used() const {
    std::set<int64_t> cells;
    for (const auto& [id, held] : sequences) {
      for (const auto& [cell, token] : held) cells.insert(cell);
    }
    return cells.size();
  }
  Tokens TokensOf(int32_t id) {
    Tokens out;
    for (const auto& [cell, token] : sequences[id]) out.push_back(token);
    return out;
  }

  bool cuts = true;
  std::map<int32_t, std::vector<std::pair<int64_t, TokenId>>> sequences;
  int64_t next_cell = 0;
};

void Feed(CellLedger& ledger, FakeMemory& memory, SequenceId id, const Tokens& tokens) {
  const auto length = static_cast<int32_t>(ledger.Tokens(id)->size());
  ASSERT_TRUE(ledger.Reserve(id, length + static_cast<int32_t>(tokens.size())));
  memory.Append(static_cast<int32_t>(id.slot), tokens);
  ledger.Commit(id, tokens);
}

TEST(CellLedger, AClosedConversationGoesOnWithoutComputingItAgain) {
  FakeMemory memory;
  CellLedger ledger({.cells = 64, .ids = 4, .max_sequences = 2}, memory);
  const SequenceId first = ledger.Open({}, 1)->sequence;
  Feed(ledger, memory, first, {1, 2, 3, 4});
  ASSERT_TRUE(ledger.Close(first));
  EXPECT_EQ(ledger.Open(Tokens{1, 2, 3, 4, 5}, 2)->cached_tokens, 0) << "another salt";
  const auto again = ledger.Open(Tokens{1, 2, 3, 4, 5}, 1);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cached_tokens, 4);
  EXPECT_FALSE(ledger.Tokens(first)) << "a stale handle";
}

TEST(CellLedger, ALiveSequencesPrefixIsShared) {
  FakeMemory memory;
  CellLedger ledger({.cells = 8, .ids = 4, .max_sequences = 2}, memory);
  const SequenceId first = ledger.Open({}, 1)->sequence;
  Feed(ledger, memory, first, {1, 2, 3, 4, 5, 6});
  const auto second = ledger.Open(Tokens{1, 2, 3, 9}, 1);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->cached_tokens, 3);
  EXPECT_EQ(ledger.usage().blocks_used, 6);
  EXPECT_TRUE(ledger.Reserve(second->sequence, 5));
  const auto refused = ledger.Reserve(second->sequence, 6);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(ledger.Open({}, 1).error().code, ErrorCode::kResourceExhausted) << "two may live";
}

TEST(CellLedger, WhereTheMemoryCannotBeCutNothingChangesAndOnlyWholePrefixesAreShared) {
  FakeMemory memory;
  memory.cuts = false;
  CellLedger ledger({.cells = 64, .ids = 4, .max_sequences = 3, .partial_copies = false}, memory);
  const SequenceId first = ledger.Open({}, 1)->sequence;
  Feed(ledger, memory, first, {1, 2, 3, 4});
  const auto cut = ledger.Truncate(first, 2);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(ledger.Tokens(first)->size(), 4u);
  EXPECT_EQ(ledger.Open(Tokens{1, 2, 3, 9}, 1)->cached_tokens, 0);
  EXPECT_EQ(ledger.Open(Tokens{1, 2, 3, 4, 9}, 1)->cached_tokens, 4);
  EXPECT_TRUE(ledger.Truncate(first, 0));
}

// The last id there is has a longer text of another end, and its memory cannot be cut: all of it is computed again.
TEST(CellLedger, WhatCannotBeCutToThePrefixBeginsAnew) {
  FakeMemory memory;
  memory.cuts = false;
  CellLedger ledger({.cells = 64, .ids = 2, .max_sequences = 2}, memory);
  const SequenceId lives = ledger.Open({}, 1)->sequence, closed = ledger.Open({}, 1)->sequence;
  Feed(ledger, memory, lives, {1, 2, 3, 4});
  Feed(ledger, memory, closed, {5, 6, 7, 8});
  ASSERT_TRUE(ledger.Close(closed));
  const auto next = ledger.Open(Tokens{5, 6, 9}, 1);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->cached_tokens, 0);
  EXPECT_TRUE(ledger.Tokens(next->sequence)->empty());
  EXPECT_TRUE(memory.TokensOf(static_cast<int32_t>(next->sequence.slot)).empty());
  EXPECT_EQ(ledger.Tokens(lives)->size(), 4u);
  EXPECT_EQ(ledger.usage().blocks_used, 4);
}

std::string Usage(const CellLedger& ledger) {
  const KvUsage usage = ledger.usage();
  return fmt::format("{} used {} cached {} free", usage.blocks_used, usage.blocks_cached, usage.blocks_free);
}

TEST(CellLedger, CountsTheCellsThatAreUsedKeptAndFree) {
  FakeMemory memory;
  CellLedger ledger({.cells = 10, .ids = 4, .max_sequences = 3}, memory);
  EXPECT_EQ(Usage(ledger), "0 used 0 cached 10 free");
  const SequenceId first = ledger.Open({}, 1)->sequence;
  EXPECT_EQ(first.slot, 0u);
  EXPECT_EQ(first.generation, 1u);
  Feed(ledger, memory, first, {1, 2, 3, 4});
  ASSERT_TRUE(ledger.Reserve(first, 6));
  EXPECT_EQ(Usage(ledger), "6 used 0 cached 4 free");
  EXPECT_EQ(ledger.WritableLength(first, 2), 4);
  EXPECT_EQ(ledger.WritableLength(first, 3).error().message, "3 tokens for a sequence with room for 2: reserve first");
  const SequenceId copy = *ledger.Fork(first);
  EXPECT_EQ(memory.TokensOf(1), (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(Usage(ledger), "6 used 0 cached 4 free") << "the copy shares the four cells";
  ASSERT_TRUE(ledger.Reserve(copy, 8));
  EXPECT_EQ(Usage(ledger), "10 used 0 cached 0 free");
  EXPECT_EQ(ledger.Reserve(copy, 10).error().message, "the KV store lacks 2 of 10 tokens");
  ASSERT_TRUE(ledger.Truncate(copy, 3));
  EXPECT_EQ(Usage(ledger), "6 used 0 cached 4 free");
  EXPECT_EQ(ledger.Truncate(copy, 4).error().message, "cannot cut a sequence of 3 tokens to 4");
  EXPECT_EQ(ledger.Truncate(copy, -1).error().message, "cannot cut a sequence of 3 tokens to -1");
  ASSERT_TRUE(ledger.Close(first));
  EXPECT_EQ(Usage(ledger), "3 used 1 cached 6 free") << "room that was only reserved is free";
  ASSERT_TRUE(ledger.Close(copy));
  EXPECT_EQ(Usage(ledger), "0 used 4 cached 6 free") << "the other one knows all of its tokens";
  EXPECT_EQ(ledger.Close(copy).error().message, "no live sequence 1:1: it was closed, or never opened");
  const auto again = ledger.Open(Tokens{1, 2, 9}, 1);
  EXPECT_EQ(again->sequence.slot, 1u) << "a copy: the longer one stays";
  EXPECT_EQ(again->sequence.generation, 2u);
  EXPECT_EQ(again->cached_tokens, 2);
  EXPECT_EQ(Usage(ledger), "2 used 2 cached 6 free");
  EXPECT_FALSE(ledger.Tokens(SequenceId{.slot = 4, .generation = 1}));
}

TEST(CellLedger, AStepThatFailedLeavesNothingBehind) {
  FakeMemory memory;
  CellLedger ledger({.cells = 10, .ids = 2, .max_sequences = 2}, memory);
  const SequenceId id = ledger.Open({}, 1)->sequence;
  Feed(ledger, memory, id, {1, 2, 3});
  memory.Append(0, {4, 5});
  ledger.Retract(id);
  EXPECT_EQ(memory.TokensOf(0), (Tokens{1, 2, 3}));
  EXPECT_EQ(ledger.Tokens(id)->size(), 3u);
  memory.cuts = false;
  memory.Append(0, {4, 5});
  ledger.Retract(id);
  EXPECT_TRUE(memory.TokensOf(0).empty()) << "where it cannot be cut, all of it goes";
  EXPECT_TRUE(ledger.Tokens(id)->empty());
}

// In both orders of ids, so that the one with the lower id is not simply the first.
TEST(CellLedger, TheClosedSequenceThatWasUsedLongestAgoGivesWay) {
  for (const bool lower_first : {true, false}) {
    for (const bool by_cells : {true, false}) {  // what runs out: cells, or ids
      FakeMemory memory;
      CellLedger ledger({.cells = by_cells ? 12 : 64, .ids = by_cells ? 4 : 2, .max_sequences = 2}, memory);
      const SequenceId low = ledger.Open({}, 1)->sequence, high = ledger.Open({}, 1)->sequence;
      Feed(ledger, memory, low, {1, 1, 1, 1});
      Feed(ledger, memory, high, {2, 2, 2, 2});
      ASSERT_TRUE(ledger.Close(lower_first ? low : high));
      ASSERT_TRUE(ledger.Close(lower_first ? high : low));
      const SequenceId next = ledger.Open({}, 1)->sequence;
      ASSERT_TRUE(ledger.Reserve(next, 8));
      ASSERT_TRUE(ledger.Close(next));
      const TokenId older = lower_first ? 1 : 2;
      EXPECT_EQ(ledger.Open(Tokens{older, older, older, older, 9}, 1)->cached_tokens, 0);
      const TokenId newer = 3 - older;
      EXPECT_EQ(ledger.Open(Tokens{newer, newer, newer, newer, 9}, 1)->cached_tokens, 4);
    }
  }
}

class Random : public ::testing::TestWithParam<uint32_t> {};

TEST_P(Random, TheLedgerAndTheCacheAgree) {
  std::mt19937 random(GetParam());
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  FakeMemory memory;
  constexpr int64_t kCells = 96;
  CellLedger ledger({.cells = kCells, .ids = 7, .max_sequences = 4}, memory);
  std::vector<std::pair<SequenceId, Tokens>> live;
  const auto random_tokens = [&](size_t most) {
    Tokens out(1 + below(most));
    for (TokenId& token : out) token = static_cast<TokenId>(below(2));
    return out;
  };
  for (int step = 0; step < 4000; ++step) {
    const size_t pick = live.empty() ? 0 : below(live.size());
    switch (below(6)) {
      case 0: {
        const Tokens tokens = random_tokens(24);
        const auto match = ledger.Open(tokens, below(2));
        ASSERT_EQ(match.has_value(), live.size() < 4);
        if (!match) break;
        ASSERT_LT(match->cached_tokens, static_cast<int32_t>(tokens.size()));
        live.emplace_back(match->sequence, Tokens(tokens.begin(), tokens.begin() + match->cached_tokens));
        break;
      }
      case 1:
      case 2: {
        if (live.empty()) break;
        auto& [id, held] = live[pick];
        const Tokens more = random_tokens(12);
        const auto before = ledger.usage();
        const auto room = ledger.Reserve(id, static_cast<int32_t>(held.size() + more.size()));
        if (!room) {
          ASSERT_EQ(ledger.usage().blocks_used, before.blocks_used) << "a refusal changes nothing";
          ASSERT_EQ(ledger.usage().blocks_cached, before.blocks_cached);
          break;
        }
        memory.Append(static_cast<int32_t>(id.slot), more);
        ledger.Commit(id, more);
        held.insert(held.end(), more.begin(), more.end());
        break;
      }
      case 3: {
        if (live.empty()) break;
        auto& [id, held] = live[pick];
        held.resize(below(held.size() + 1));
        ASSERT_TRUE(ledger.Truncate(id, static_cast<int32_t>(held.size())));
        break;
      }
      case 4: {
        if (live.empty()) break;
        const auto copy = ledger.Fork(live[pick].first);
        ASSERT_EQ(copy.has_value(), live.size() < 4);
        if (copy) live.emplace_back(*copy, live[pick].second);
        break;
      }
      default:
        if (live.empty()) break;
        ASSERT_TRUE(ledger.Close(live[pick].first));
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    for (const auto& [id, held] : live) {
      ASSERT_EQ(memory.TokensOf(static_cast<int32_t>(id.slot)), held);
      ASSERT_TRUE(std::ranges::equal(*ledger.Tokens(id), held));
    }
    const KvUsage usage = ledger.usage();
    ASSERT_EQ(usage.blocks_used + usage.blocks_cached + usage.blocks_free, kCells);
    ASSERT_GE(usage.blocks_used + usage.blocks_cached, static_cast<int64_t>(memory.used()));
    if (!live.empty()) continue;
    ASSERT_EQ(usage.blocks_used, 0);
    ASSERT_EQ(usage.blocks_cached, static_cast<int64_t>(memory.used())) << "cells leak";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace inferflux::engine
