#include "keys/limits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace inferflux::keys {
namespace {

// A key file that one version wrote must load in the next.
TEST(LimitsTest, EachLimitHasItsMost) {
  const std::map<std::string_view, int64_t> most = {
      {"running", 65'536},        {"queued", 1'048'576}, {"body_bytes", 1'099'511'627'776},
      {"connections", 1'048'576}, {"preparations", 64},  {"tokens_per_minute", 1'099'511'627'776}};
  EXPECT_EQ(LimitRows().size(), most.size());
  for (const LimitRow& row : LimitRows()) {
    ASSERT_TRUE(most.contains(row.name)) << row.name;
    EXPECT_EQ(row.max, most.at(row.name)) << row.name;
  }
}

TEST(LimitsTest, EachNameAndFlagIsThatOfItsLimit) {
  const Limits all{
      .running = 1, .queued = 2, .body_bytes = 3, .connections = 4, .preparations = 5, .tokens_per_minute = 6};
  const std::map<std::string_view, std::pair<std::string_view, int64_t>> expected = {
      {"running", {"--running", 1}},           {"queued", {"--queued", 2}},
      {"body_bytes", {"--body-bytes", 3}},     {"connections", {"--connections", 4}},
      {"preparations", {"--preparations", 5}}, {"tokens_per_minute", {"--tokens-per-minute", 6}}};
  for (const LimitRow& row : LimitRows()) {
    EXPECT_EQ(row.flag, expected.at(row.name).first);
    EXPECT_EQ(all.*row.value, expected.at(row.name).second) << row.name;
  }
  EXPECT_EQ(Over(all, {}), all);
  EXPECT_EQ(Over({}, all), all);
}

TEST(LimitsTest, ALimitIsAWholeNumberUpToItsMost) {
  EXPECT_EQ(ParseLimit("0", 64), 0);
  EXPECT_EQ(ParseLimit("64", 64), 64);
  for (const char* wrong : {"65", "-1", "", "6x", " 6", "6.0", "99999999999999999999"}) {
    EXPECT_EQ(ParseLimit(wrong, 64), std::nullopt) << wrong;
  }
}

TEST(LimitsTest, OwnLimitsOverrideTheUsualOnes) {
  const Limits out = Over({.running = 0, .queued = 5}, {.running = 7, .queued = 8, .connections = 9});
  EXPECT_EQ(out, (Limits{.running = 0, .queued = 5, .connections = 9})) << "0 is a limit of its own: none";
}

}  // namespace
}  // namespace inferflux::keys
