// Which sequence the ledger of llama.cpp's cache takes where several would do, and what its log says.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "engine/llama_cpp/cell_ledger.h"
#include "engine/llama_cpp/llama_library.h"

namespace inferflux::engine {
void HearLlama(ggml_log_level level, const char* text, void*);

namespace {

using Words = std::vector<TokenId>;

class QuietMemory final : public SequenceMemory {
 public:
  bool Cut(int32_t, int32_t from) override { return cuts || from == 0; }
  void Copy(int32_t from, int32_t to, int32_t length) override { copies.push_back({from, to, length}); }

  bool cuts = true;
  std::vector<std::vector<int32_t>> copies;
};

void Write(CellLedger& ledger, SequenceId id, const Words& tokens) {
  const auto length = static_cast<int32_t>(ledger.Tokens(id)->size());
  ASSERT_TRUE(ledger.Reserve(id, length + static_cast<int32_t>(tokens.size())));
  ledger.Commit(id, tokens);
}

TEST(LedgerEdges, SaysWhyItRefuses) {
  QuietMemory memory;
  CellLedger ledger({.cells = 16, .ids = 4, .max_sequences = 2}, memory);
  const SequenceId first = ledger.Open({}, 1)->sequence;
  ASSERT_TRUE(ledger.Open({}, 1));
  EXPECT_EQ(ledger.Open({}, 1).error().message, "all 2 sequences of this engine are in use");
  EXPECT_EQ(ledger.Fork(first).error().message, "all 2 sequences of this engine are in use");
  memory.cuts = false;
  Write(ledger, first, {1, 2, 3});
  EXPECT_EQ(ledger.Truncate(first, 2).error().message,
            "this model's memory cannot be cut from 3 tokens to 2: compute them again");
  EXPECT_TRUE(ledger.Truncate(first, 3)) << "nothing is cut";
}

// Of sequences that share as much, a closed one without further tokens is taken over, whatever its id.
TEST(LedgerEdges, AmongEqualsTheWholeClosedOneIsTakenOver) {
  for (const bool closed_first : {true, false}) {
    QuietMemory memory;
    CellLedger ledger({.cells = 32, .ids = 4, .max_sequences = 3}, memory);
    const SequenceId low = ledger.Open({}, 1)->sequence, high = ledger.Open({}, 1)->sequence;
    const SequenceId closes = closed_first ? low : high, lives = closed_first ? high : low;
    Write(ledger, closes, {1, 2, 3});
    ASSERT_TRUE(ledger.Close(closes));
    Write(ledger, lives, {1, 2, 3, 4});
    const auto next = ledger.Open(Words{1, 2, 3, 9}, 1);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->cached_tokens, 3);
    EXPECT_EQ(next->sequence.slot, closes.slot) << closed_first;
    EXPECT_TRUE(memory.copies.empty());
  }
}

// No id is free, and the one with the prefix has more tokens: the other cached one gives way to a copy.
TEST(LedgerEdges, ALongerTextIsCopiedWhileAnotherOneCanGiveWay) {
  QuietMemory memory;
  CellLedger ledger({.cells = 32, .ids = 2, .max_sequences = 2}, memory);
  const SequenceId longer = ledger.Open({}, 1)->sequence, other = ledger.Open({}, 1)->sequence;
  Write(ledger, longer, {1, 2, 3, 4});
  Write(ledger, other, {7, 8});
  ASSERT_TRUE(ledger.Close(longer));
  ASSERT_TRUE(ledger.Close(other));
  const auto copy = ledger.Open(Words{1, 2, 9}, 1);
  EXPECT_EQ(copy->sequence.slot, other.slot);
  EXPECT_EQ(copy->cached_tokens, 2);
  EXPECT_EQ(memory.copies, (std::vector<std::vector<int32_t>>{{0, 1, 2}}));
  const auto taken = ledger.Open(Words{1, 2, 3, 9}, 1);
  EXPECT_EQ(taken->sequence.slot, longer.slot) << "the last id there is: its further tokens are cut";
  EXPECT_EQ(taken->cached_tokens, 3);
  EXPECT_EQ(memory.copies.size(), 1u);
}

TEST(LedgerEdges, AClosedTextIsForgottenWhereAnotherHasItAll) {
  struct Case {
    Words other;
    uint64_t salt;
    bool partial;
    int64_t cached;
  };
  for (const auto& [other, salt, partial, cached] :
       {Case{{1, 2, 3}, 1, true, 0}, Case{{1, 2, 3, 4}, 1, true, 0}, Case{{1, 2}, 1, true, 3},
        Case{{1, 2, 3}, 2, true, 3}, Case{{1, 2, 4}, 1, true, 3}, Case{{1, 2, 3, 4}, 1, false, 3},
        Case{{1, 2, 3}, 1, false, 0}}) {
    QuietMemory memory;
    CellLedger ledger({.cells = 32, .ids = 4, .max_sequences = 3, .partial_copies = partial}, memory);
    const SequenceId closes = ledger.Open({}, 1)->sequence, lives = ledger.Open({}, salt)->sequence;
    Write(ledger, closes, {1, 2, 3});
    Write(ledger, lives, other);
    ASSERT_TRUE(ledger.Close(closes));
    EXPECT_EQ(ledger.usage().blocks_cached, cached) << other.size() << " " << salt << " " << partial;
  }
}

TEST(LlamaLog, TheLastErrorOfALineInPiecesIsTheReason) {
  HearLlama(GGML_LOG_LEVEL_ERROR, "before\n", nullptr);
  const LlamaComplaints complaints;
  EXPECT_EQ(complaints.text(), "the library gave no reason");
  HearLlama(GGML_LOG_LEVEL_WARN, "a warning\n", nullptr);
  HearLlama(GGML_LOG_LEVEL_INFO, "some", nullptr);
  HearLlama(GGML_LOG_LEVEL_CONT, " words\n", nullptr);
  EXPECT_EQ(complaints.text(), "the library gave no reason");
  HearLlama(GGML_LOG_LEVEL_ERROR, "wrong", nullptr);
  EXPECT_EQ(complaints.text(), "the library gave no reason") << "the line has not ended";
  HearLlama(GGML_LOG_LEVEL_CONT, " number\n", nullptr);
  EXPECT_EQ(complaints.text(), "wrong number");
  HearLlama(GGML_LOG_LEVEL_ERROR, "...\n", nullptr);
  EXPECT_EQ(complaints.text(), "wrong number") << "a bar of progress";
  HearLlama(GGML_LOG_LEVEL_CONT, "again\n", nullptr);
  EXPECT_EQ(complaints.text(), "again") << "it goes on at the level before";
}

}  // namespace
}  // namespace inferflux::engine
