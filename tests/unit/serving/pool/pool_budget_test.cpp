#include "serving/pool/pool_budget.h"

#include <gtest/gtest.h>

#include "base/host_memory.h"

namespace inferflux::serving {
namespace {

TEST(PoolBudget, AClaimHoldsItsShareUntilItEnds) {
  PoolBudget budget(100);
  auto first = budget.Take("first", 60);
  ASSERT_TRUE(first);
  EXPECT_FALSE(budget.Take("second", 41)) << "more than is left";
  {
    auto second = budget.Take("second", 40);
    ASSERT_TRUE(second);
    EXPECT_EQ(budget.use().left(), 0);
    ASSERT_EQ(budget.use().holders.size(), 2u);
    EXPECT_EQ(budget.use().holders[1].id, "second");
  }
  EXPECT_EQ(budget.use().used, 60);
  first->Release();
  EXPECT_EQ(budget.use().used, 0);
  EXPECT_TRUE(budget.use().holders.empty());
}

TEST(PoolBudget, WhatIsMeasuredReplacesWhatWasClaimed) {
  PoolBudget budget(100);
  auto claim = budget.Take("m", 50);
  claim->Resize(120);
  EXPECT_EQ(budget.use().used, 120);
  EXPECT_EQ(budget.use().left(), 0) << "never negative";
  EXPECT_FALSE(budget.Take("n", 1));
  claim->Resize(10);
  EXPECT_EQ(budget.use().left(), 90);
}

TEST(PoolBudget, MovingAClaimGivesBackWhatItReplaces) {
  PoolBudget budget(100);
  auto first = *budget.Take("first", 30);
  auto second = *budget.Take("second", 20);
  first = std::move(second);
  EXPECT_EQ(budget.use().used, 20);
  EXPECT_EQ(first.bytes(), 20);
}

TEST(PoolBudget, AClaimOfAllThatIsLeftFits) {
  PoolBudget budget(100);
  auto all = budget.Take("m", 100);
  ASSERT_TRUE(all);
  EXPECT_EQ(budget.use().budget, 100);
  EXPECT_EQ(budget.use().left(), 0);
  EXPECT_EQ(budget.use().holders.at(0).bytes, 100);
  EXPECT_FALSE(budget.Take("n", 1));
  EXPECT_TRUE(budget.Take("n", 0));
  all->Release();
  all->Release();
  EXPECT_EQ(all->bytes(), 0);
  all->Resize(50);
  EXPECT_EQ(budget.use().used, 0) << "what was released cannot grow";
  const int64_t total = ReadHostMemory().total;
  EXPECT_EQ(DefaultPoolBudget(), total / 10 * 9);
}

TEST(PoolBudget, AClaimMayOutliveItsBudget) {
  PoolBudget::Claim claim;
  {
    PoolBudget budget(10);
    claim = *budget.Take("m", 5);
  }
  EXPECT_EQ(claim.bytes(), 5);
}

TEST(PoolBudget, TheDefaultIsMostOfTheMemoryOfThisProcess) {
  EXPECT_GT(DefaultPoolBudget(), 0);
  EXPECT_LT(DefaultPoolBudget(), ReadHostMemory().total);
}

}  // namespace
}  // namespace inferflux::serving
