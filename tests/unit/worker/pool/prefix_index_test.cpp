#include "worker/pool/prefix_index.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

namespace inferflux::worker {
namespace {

std::vector<TokenId> Count(size_t count, TokenId from = 0) {
  std::vector<TokenId> out(count);
  std::iota(out.begin(), out.end(), from);
  return out;
}

TEST(PrefixIndex, FindsTheLongestPrefixOfEachWorkerInWholeBlocks) {
  PrefixIndex index;
  index.Insert(Count(100), 0, 1);
  index.Insert(Count(40), 0, 2);
  const auto matched = index.Match(Count(200), 0);
  EXPECT_EQ(matched.at(1), 96);
  EXPECT_EQ(matched.at(2), 32);
}

TEST(PrefixIndex, PromptsThatDifferInTheFirstBlockShareNothing) {
  PrefixIndex index;
  index.Insert(Count(100), 0, 1);
  auto other = Count(100);
  other[0] = 77;
  EXPECT_TRUE(index.Match(other, 0).empty());
}

TEST(PrefixIndex, SaltsShareNothing) {
  PrefixIndex index;
  index.Insert(Count(100), 1, 1);
  EXPECT_TRUE(index.Match(Count(100), 2).empty());
}

TEST(PrefixIndex, ForgetsALostWorker) {
  PrefixIndex index;
  index.Insert(Count(64), 0, 1);
  index.Insert(Count(64), 0, 2);
  index.Forget(1);
  const auto matched = index.Match(Count(64), 0);
  EXPECT_EQ(matched.count(1), 0u);
  EXPECT_EQ(matched.at(2), 64);
}

// Compares with every prompt that was sent, on prompts that share prefixes often.
TEST(PrefixIndex, AgreesWithACompleteList) {
  std::mt19937 random(7);
  PrefixIndex index;
  std::vector<std::pair<std::vector<TokenId>, int>> sent;
  const auto prompt = [&] {
    std::vector<TokenId> out;
    for (int block = 0, blocks = static_cast<int>(random() % 6); block < blocks; ++block) {
      const auto part = Count(PrefixIndex::kBlock, static_cast<TokenId>(random() % 2) * 1000);
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  };
  for (int i = 0; i < 300; ++i) {
    const auto tokens = prompt();
    std::map<int, int32_t> right;
    for (const auto& [other, worker] : sent) {
      const auto ends = std::mismatch(tokens.begin(), tokens.end(), other.begin(), other.end());
      const auto shared = static_cast<int32_t>(ends.first - tokens.begin()) / 32 * 32;
      if (shared > 0) right[worker] = std::max(right[worker], shared);
    }
    EXPECT_EQ(index.Match(tokens, 0), right);
    const int worker = static_cast<int>(random() % 3);
    index.Insert(tokens, 0, worker);
    sent.emplace_back(tokens, worker);
  }
}

TEST(PrefixIndex, IsBounded) {
  PrefixIndex index(100);
  for (TokenId i = 0; i < 1000; ++i) index.Insert(Count(64, i * 64), 0, 1);
  EXPECT_EQ(index.blocks(), 100u);
  EXPECT_EQ(index.Match(Count(64, 999 * 64), 0).at(1), 64) << "the latest stay";
  EXPECT_TRUE(index.Match(Count(64, 900 * 64), 0).empty());
}

TEST(PrefixIndex, WhatIsUsedAgainStays) {
  PrefixIndex index(4);
  index.Insert(Count(64, 0), 0, 1);
  index.Insert(Count(64, 1000), 0, 1);
  index.Insert(Count(64, 0), 0, 2);
  index.Insert(Count(64, 2000), 0, 1);
  EXPECT_EQ(index.Match(Count(64, 0), 0), (std::map<int, int32_t>{{1, 64}, {2, 64}}));
  EXPECT_TRUE(index.Match(Count(64, 1000), 0).empty());
}

TEST(PrefixIndex, OnlyAnUnbrokenRunCounts) {
  PrefixIndex index;
  index.Insert(Count(32), 0, 1);
  index.Insert(Count(96), 0, 2);
  index.Forget(1);
  index.Insert(Count(31), 0, 1);
  EXPECT_EQ(index.Match(Count(96), 0), (std::map<int, int32_t>{{2, 96}}));
  EXPECT_EQ(index.Match(Count(95), 0), (std::map<int, int32_t>{{2, 64}}));
}

}  // namespace
}  // namespace inferflux::worker
