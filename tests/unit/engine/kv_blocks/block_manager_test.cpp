#include "engine/kv_blocks/block_manager.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace inferflux::engine {
namespace {

std::vector<TokenId> Tokens(int32_t count, TokenId first = 100) {
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

// Opens, reserves and commits at once, as an engine does for a prefill.
PrefixMatch Fill(BlockManager& store, const std::vector<TokenId>& tokens, uint64_t salt = 0) {
  const PrefixMatch match = *store.Open(tokens, salt);
  EXPECT_TRUE(store.Reserve(match.sequence, static_cast<int32_t>(tokens.size())));
  EXPECT_TRUE(store.Commit(match.sequence, std::span(tokens).subspan(static_cast<size_t>(match.cached_tokens))));
  return match;
}

TEST(BlockManager, AClosedHandleIsAnErrorAlsoWhenItsSlotIsUsedAgain) {
  BlockManager store(8, 4, 1);
  const SequenceId first = Fill(store, Tokens(4)).sequence;
  ASSERT_TRUE(store.Close(first));
  const SequenceId second = store.Open({}, 0)->sequence;
  EXPECT_EQ(first.slot, second.slot);
  EXPECT_EQ(store.Close(first).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(store.Reserve(first, 4));
  EXPECT_FALSE(store.Truncate(first, 0));
  EXPECT_FALSE(store.Fork(first));
  EXPECT_FALSE(store.Find(SequenceId{}));
  EXPECT_TRUE(store.Close(second));
}

TEST(BlockManager, MoreSequencesThanSlotsIsRefused) {
  BlockManager store(8, 4, 2);
  const auto first = store.Open({}, 0);
  ASSERT_TRUE(store.Open({}, 0));
  EXPECT_EQ(store.Open({}, 0).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(store.Fork(first->sequence).error().code, ErrorCode::kResourceExhausted);
}

TEST(BlockManager, FullBlocksAreSharedWhileTheirOwnerLives) {
  BlockManager store(8, 4, 4);
  const SequenceId first = Fill(store, Tokens(9)).sequence;
  const PrefixMatch second = *store.Open(Tokens(12), 0);
  EXPECT_EQ(second.cached_tokens, 8);
  EXPECT_EQ((*store.Find(second.sequence))->blocks[1], (*store.Find(first))->blocks[1]);
  EXPECT_EQ(store.usage().blocks_used, 3);
}

TEST(BlockManager, TheLastTokenIsAlwaysLeftToCompute) {
  BlockManager store(8, 4, 4);
  ASSERT_TRUE(store.Close(Fill(store, Tokens(8)).sequence));
  EXPECT_EQ(store.Open(Tokens(8), 0)->cached_tokens, 7);
}

TEST(BlockManager, APartlyFilledTailIsMatchedAndCopiedBeforeItIsWritten) {
  BlockManager store(8, 4, 4);
  const SequenceId first = Fill(store, Tokens(6)).sequence;
  const int32_t tail = (*store.Find(first))->blocks[1];
  ASSERT_TRUE(store.Close(first));

  std::vector<TokenId> longer = Tokens(6);
  longer.insert(longer.end(), {7, 8, 9});
  const PrefixMatch second = *store.Open(longer, 0);
  EXPECT_EQ(second.cached_tokens, 6);
  EXPECT_FALSE(store.CheckWritable(second.sequence, 1));
  const auto copy = *store.Reserve(second.sequence, 9);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->from, tail);
  EXPECT_NE(copy->to, tail);
  EXPECT_TRUE(store.Commit(second.sequence, std::span(longer).subspan(6)));
  EXPECT_EQ(store.Open(longer, 0)->cached_tokens, 8);
}

TEST(BlockManager, PromptsThatPartWaysInsideABlockShareItsBeginning) {
  BlockManager store(8, 4, 4);
  ASSERT_TRUE(store.Close(Fill(store, {1, 2, 3, 4, 5, 6, 7, 8}).sequence));
  EXPECT_EQ(store.Open(std::vector<TokenId>{1, 2, 3, 4, 5, 6, 99, 98, 97}, 0)->cached_tokens, 6);
}

TEST(BlockManager, SaltsNeverShare) {
  BlockManager store(8, 4, 4);
  const SequenceId mine = Fill(store, Tokens(9), 1).sequence;
  EXPECT_EQ(store.Open(Tokens(9), 2)->cached_tokens, 0);
  ASSERT_TRUE(store.Close(mine));
  EXPECT_EQ(store.Open(Tokens(9), 2)->cached_tokens, 0);
  EXPECT_EQ(store.Open(Tokens(9), 1)->cached_tokens, 8);
}

TEST(BlockManager, TwoThatComputeTheSameAtOnceEndUpSharing) {
  BlockManager store(8, 4, 4);
  const auto tokens = Tokens(8);
  const PrefixMatch a = *store.Open(tokens, 0);
  const PrefixMatch b = *store.Open(tokens, 0);
  for (const auto& match : {a, b}) {
    EXPECT_EQ(match.cached_tokens, 0);
    ASSERT_TRUE(store.Reserve(match.sequence, 8));
  }
  EXPECT_EQ(store.usage().blocks_used, 4);
  ASSERT_TRUE(store.Commit(a.sequence, tokens));
  ASSERT_TRUE(store.Commit(b.sequence, tokens));
  EXPECT_EQ((*store.Find(a.sequence))->blocks, (*store.Find(b.sequence))->blocks);
  EXPECT_EQ(store.usage().blocks_used, 2);
}

TEST(BlockManager, AForkSharesUntilEitherWrites) {
  BlockManager store(8, 4, 4);
  const SequenceId first = Fill(store, Tokens(6)).sequence;
  const SequenceId second = *store.Fork(first);
  EXPECT_EQ(store.usage().blocks_used, 2);
  EXPECT_FALSE(store.CheckWritable(first, 1)) << "room that was reserved before the fork is shared now";
  ASSERT_TRUE((*store.Reserve(second, 7)).has_value());
  EXPECT_FALSE((*store.Reserve(first, 7)).has_value()) << "alone again: no second copy";
  ASSERT_TRUE(store.Commit(second, std::vector<TokenId>{55}));
  ASSERT_TRUE(store.Commit(first, std::vector<TokenId>{66}));
  EXPECT_NE((*store.Find(first))->blocks[1], (*store.Find(second))->blocks[1]);
  EXPECT_EQ((*store.Find(first))->blocks[0], (*store.Find(second))->blocks[0]);
}

TEST(BlockManager, ARefusedReservationChangesNothingAndSaysWhatIsMissing) {
  BlockManager store(3, 4, 2);
  const SequenceId id = Fill(store, Tokens(5)).sequence;
  const auto refused = store.Reserve(id, 17);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(refused.error().message.find("lacks 2 of 3 blocks"), std::string::npos) << refused.error().message;
  EXPECT_EQ(store.usage().blocks_free, 1);
  EXPECT_TRUE(store.Reserve(id, 12));
}

TEST(BlockManager, TheLeastRecentlyUsedPrefixGoesFirst) {
  BlockManager store(4, 4, 4);
  ASSERT_TRUE(store.Close(Fill(store, Tokens(5, 100)).sequence));
  ASSERT_TRUE(store.Close(Fill(store, Tokens(5, 200)).sequence));
  ASSERT_TRUE(store.Close(store.Open(Tokens(6, 100), 0)->sequence));  // used again
  EXPECT_EQ(store.usage().blocks_cached, 4);
  const SequenceId other = Fill(store, Tokens(8, 300)).sequence;
  EXPECT_EQ(store.Open(Tokens(9, 100), 0)->cached_tokens, 5);
  EXPECT_EQ(store.Open(Tokens(9, 200), 0)->cached_tokens, 0);
  ASSERT_TRUE(store.Close(other));
}

TEST(BlockManager, TruncatedTokensAreForgottenAndTheRestStaysUsable) {
  BlockManager store(8, 4, 4);
  const SequenceId id = Fill(store, Tokens(10)).sequence;
  EXPECT_FALSE(store.Truncate(id, 11));
  ASSERT_TRUE(store.Truncate(id, 6));
  EXPECT_EQ(store.usage().blocks_used, 2);
  EXPECT_TRUE((*store.Reserve(id, 8)).has_value()) << "the block of token 6 was full: others may match it";
  ASSERT_TRUE(store.Commit(id, std::vector<TokenId>{1, 2}));
  EXPECT_EQ((*store.Find(id))->length(), 8);
}

TEST(BlockManager, TheLastSequenceCanUseEveryBlockThereIs) {
  BlockManager store(2, 4, 2);
  ASSERT_TRUE(store.Close(Fill(store, Tokens(8)).sequence));
  std::vector<TokenId> other = Tokens(6);
  other.insert(other.end(), {1, 2});
  const PrefixMatch match = *store.Open(other, 0);
  EXPECT_EQ(match.cached_tokens, 6);
  EXPECT_FALSE((*store.Reserve(match.sequence, 8)).has_value()) << "no block is left for a copy";
  ASSERT_TRUE(store.Commit(match.sequence, std::span(other).subspan(6)));
  EXPECT_EQ(store.Open(Tokens(8), 0)->cached_tokens, 6) << "tokens 6 and 7 were overwritten";
}

}  // namespace
}  // namespace inferflux::engine
