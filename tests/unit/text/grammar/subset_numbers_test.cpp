#include "text/grammar/automaton/subset_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace inferflux::text {
namespace {

TEST(SubsetNumbersTest, EqualSetsHaveOneNumberAndNewOnesTheNext) {
  std::mt19937 random(20);
  std::map<std::vector<uint32_t>, uint32_t> expected;
  SubsetNumbers numbers;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint32_t> set;
    for (uint32_t state = random() % 3; state < 24; state += 1 + random() % 12) set.push_back(state);
    const auto [known, is_new] = expected.try_emplace(set, static_cast<uint32_t>(expected.size()));
    ASSERT_EQ(numbers.Of(set), known->second);
    ASSERT_EQ(numbers.size(), expected.size());
  }
  EXPECT_GT(expected.size(), 1000U);
  for (const auto& [set, number] : expected) EXPECT_TRUE(std::ranges::equal(numbers.at(number), set));
}

TEST(SubsetNumbersTest, TheEmptySetIsASet) {
  SubsetNumbers numbers;
  EXPECT_EQ(numbers.Of({}), 0U);
  EXPECT_EQ(numbers.Of(std::vector<uint32_t>{0}), 1U);
  EXPECT_EQ(numbers.Of({}), 0U);
  EXPECT_TRUE(numbers.at(0).empty());
}

}  // namespace
}  // namespace inferflux::text
