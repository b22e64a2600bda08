// What the block manager says and does at its bounds: full stores, shared tails, and cuts of recurrent sequences.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "engine/kv_blocks/block_manager.h"

namespace inferflux::engine {
namespace {

std::vector<TokenId> Numbered(int32_t count, TokenId first = 100) {
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

SequenceId Filled(BlockManager& store, const std::vector<TokenId>& tokens) {
  const PrefixMatch match = *store.Open(tokens, 0);
  EXPECT_TRUE(store.Reserve(match.sequence, static_cast<int32_t>(tokens.size())));
  EXPECT_TRUE(store.Commit(match.sequence, std::span(tokens).subspan(static_cast<size_t>(match.cached_tokens))));
  return match.sequence;
}

// A step of all of these tokens, with their recurrent states.
void Step(BlockManager& store, SequenceId id, const std::vector<TokenId>& tokens) {
  const auto length = static_cast<int32_t>((*store.Find(id))->tokens.size() + tokens.size());
  ASSERT_TRUE(store.Reserve(id, length));
  const auto state = store.BeginStep(id, static_cast<int32_t>(tokens.size()));
  ASSERT_TRUE(state) << state.error().message;
  ASSERT_TRUE(store.Commit(id, tokens, *state));
}

TEST(BlockEdges, ACutNamesBothLengths) {
  BlockManager store(8, 4, 2);
  const SequenceId id = Filled(store, Numbered(6));
  EXPECT_EQ(store.Truncate(id, -1).error().message, "cannot cut a sequence of 6 tokens to -1");
  EXPECT_EQ(store.Truncate(id, 7).error().message, "cannot cut a sequence of 6 tokens to 7");
  EXPECT_TRUE(store.Truncate(id, 6));
  EXPECT_TRUE(store.Truncate(id, 0));
  EXPECT_EQ(store.usage().blocks_used, 0);
}

TEST(BlockEdges, ARecurrentCutNamesTheNearestStateBeforeIt) {
  BlockManager store(8, 4, 2, 8);
  const SequenceId id = store.Open({}, 0)->sequence;
  Step(store, id, Numbered(9));  // marked after 8
  Step(store, id, Numbered(2, 109));
  const auto cut = store.Truncate(id, 10);
  EXPECT_EQ(cut.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(cut.error().message,
            "the recurrent state after 10 tokens is not stored; the nearest one before it is after 8: compute the "
            "tokens again from there");
  EXPECT_EQ(store.Truncate(id, 7).error().message,
            "the recurrent state after 7 tokens is not stored; the nearest one before it is after 0: compute the "
            "tokens again from there");
  EXPECT_EQ(store.Truncate(id, 4).error().message,
            "the recurrent state after 4 tokens is not stored; the nearest one before it is after 0: compute the "
            "tokens again from there");
  EXPECT_TRUE(store.Truncate(id, 11)) << "its own length";
  ASSERT_TRUE(store.Truncate(id, 8));
  EXPECT_EQ((*store.Find(id))->length(), 8);
  ASSERT_TRUE(store.Truncate(id, 0));
  EXPECT_EQ((*store.Find(id))->state, Sequence::kNoState);
}

TEST(BlockEdges, ARecurrentStepNeedsASlotThatNoSequenceHolds) {
  BlockManager store(8, 4, 4, 2);
  const SequenceId first = store.Open({}, 0)->sequence, second = store.Open({}, 0)->sequence;
  Step(store, first, Numbered(2));
  Step(store, second, Numbered(2, 500));
  const auto refused = store.BeginStep(first, 1);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().message, "all slots for recurrent states are held by sequences");
  ASSERT_TRUE(store.Close(second));
  const auto next = store.BeginStep(first, 1);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->from, (*store.Find(first))->state);
  store.AbandonStep(*next);
}

TEST(BlockEdges, WhatCannotBeWrittenIsNamed) {
  BlockManager store(8, 4, 3);
  const SequenceId first = Filled(store, Numbered(6));
  EXPECT_TRUE(store.CheckWritable(first, 2));
  EXPECT_EQ(store.CheckWritable(first, 3).error().message, "3 tokens for a sequence with room for 2: reserve first");
  const SequenceId second = *store.Fork(first);
  const auto shared = store.CheckWritable(first, 1);
  EXPECT_EQ(shared.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(shared.error().message, "the sequence's last block is shared: reserve first");
  EXPECT_TRUE(store.CheckWritable(first, 0)) << "nothing is written";
  EXPECT_TRUE(store.CheckWritable(second, 0));
  ASSERT_TRUE(store.Truncate(second, 4));
  EXPECT_TRUE(store.CheckWritable(second, 0)) << "no block follows the full one";
  EXPECT_EQ(store.CheckWritable(second, 1).error().message, "1 tokens for a sequence with room for 0: reserve first");
  EXPECT_TRUE(store.CheckWritable(first, 2)) << "the tail is its own again";
}

TEST(BlockEdges, AForkedTailIsCopiedOnlyWhereABlockIsLeft) {
  BlockManager store(2, 4, 3);
  const SequenceId first = Filled(store, Numbered(6));
  const SequenceId second = *store.Fork(first);
  const auto refused = store.Reserve(second, 7);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().message, "the KV store lacks 1 of 2 blocks of 4 tokens");
  EXPECT_EQ(store.Reserve(second, 9).error().message, "the KV store lacks 2 of 2 blocks of 4 tokens");
  EXPECT_EQ(*store.Reserve(second, 6), std::nullopt) << "no new token, no copy";
  ASSERT_TRUE(store.Close(first));
  const auto alone = store.Reserve(second, 7);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_FALSE(*alone) << "its only holder writes it where it is";
}

TEST(BlockEdges, AForkTakesNoRoomThatWasOnlyReserved) {
  BlockManager store(8, 4, 3);
  const SequenceId first = Filled(store, Numbered(5));
  ASSERT_TRUE(store.Reserve(first, 16));
  EXPECT_EQ(store.usage().blocks_used, 4);
  const SequenceId second = *store.Fork(first);
  EXPECT_EQ((*store.Find(second))->blocks.size(), 2u);
  ASSERT_TRUE(store.Close(first));
  EXPECT_EQ(store.usage().blocks_used, 2);
  EXPECT_EQ(store.usage().blocks_free, 6);
}

// The most blocks that a reservation can take: a cached tail gives itself up where there is no other.
TEST(BlockEdges, ACachedTailIsThawedOnlyWhereNoBlockIsLeftForItsCopy) {
  for (const int32_t tokens : {12, 8}) {
    BlockManager store(3, 4, 2);
    const SequenceId first = Filled(store, Numbered(6));
    ASSERT_TRUE(store.Close(first));
    std::vector<TokenId> longer = Numbered(7);
    const PrefixMatch match = *store.Open(longer, 0);
    ASSERT_EQ(match.cached_tokens, 6);
    const auto reserved = store.Reserve(match.sequence, tokens);
    ASSERT_TRUE(reserved);
    EXPECT_EQ(reserved->has_value(), tokens == 8) << tokens;
    EXPECT_TRUE(store.CheckWritable(match.sequence, tokens - 6));
    ASSERT_TRUE(store.Close(match.sequence));
  }
}

}  // namespace
}  // namespace inferflux::engine
