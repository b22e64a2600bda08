// What is found in a JSON text before its values are built.
#include "base/json/json_scan.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>

namespace inferflux {
namespace {

constexpr size_t kDepth = 64;

std::optional<std::string> RepeatedIn(const std::string& text, size_t depth = kDepth) {
  const JsonScan scan = ScanJson(text, depth);
  EXPECT_FALSE(scan.too_many_values) << text;
  return scan.repeated;
}

TEST(JsonScanTest, ANameIsRepeatedOnlyWithinOneObject) {
  EXPECT_EQ(RepeatedIn(R"({"a": 1, "b": 2, "a": 3, "b": 4})"), "a") << "the first";
  EXPECT_EQ(RepeatedIn(R"({"a": {"a": {"b": 1}}, "b": [{"a": 1}, {"a": 2}]})"), std::nullopt);
  EXPECT_EQ(RepeatedIn(R"({"a": {"x": 1}, "x": {"a": 1}, "b": 1})"), std::nullopt) << "behind an inner object";
  EXPECT_EQ(RepeatedIn(R"([{"a": [{"in": 1, "at": {}, "in": 2}]}])"), "in");
  EXPECT_EQ(RepeatedIn(R"({"a": {"b": 1}, "a": 2})"), "a");
  EXPECT_EQ(RepeatedIn(R"({"": 1, "": 2})"), "");
  EXPECT_EQ(RepeatedIn(R"({"a": 1, "aa": 2, "A": 3})"), std::nullopt);
}

TEST(JsonScanTest, ANameIsTheSameInEachSpelling) {
  EXPECT_EQ(RepeatedIn(R"({"model": 1, "m\u006fdel": 2})"), "model");
  EXPECT_EQ(RepeatedIn(R"({"\u00e9": 1, "é": 2})"), "é");
  const std::string rest(3000, 'x');
  EXPECT_EQ(RepeatedIn(R"({"a)" + rest + R"(": 1, "\u0061)" + rest + R"(": 2})"), "a" + rest) << "read in parts";
  EXPECT_EQ(RepeatedIn(R"({"\u0061)" + rest + R"(": 1, "\u0062)" + rest + R"(": 2})"), std::nullopt);
}

TEST(JsonScanTest, LooksAsDeepAsItIsAllowedTo) {
  const std::string four = R"([[[{"a": 1, "a": 2}]]])";
  EXPECT_EQ(RepeatedIn(four, 4), "a");
  EXPECT_EQ(RepeatedIn(four, 3), std::nullopt);
  EXPECT_EQ(RepeatedIn(std::string(60, '[') + R"({"a": 1, "a": 2})" + std::string(60, ']'), 61), "a");
}

TEST(JsonScanTest, StopsWhereTheTextIsNotJson) {
  EXPECT_EQ(RepeatedIn(R"({"a": 1, "a")"), "a");
  EXPECT_EQ(RepeatedIn(R"({"a": 1 "a": 2})"), std::nullopt);
  EXPECT_EQ(RepeatedIn(""), std::nullopt);
}

// A list whose size allows `kMost` values, filled with numbers up to `values`, the last of which are `item`.
bool HasTooMany(size_t values, const std::string& item, size_t of_item) {
  constexpr size_t kBytes = 300'000;
  std::string text = "[";
  for (size_t i = 1 + of_item; i < values; ++i) text += "0,";
  text += item + "]";
  text.resize(kBytes, ' ');
  const JsonScan scan = ScanJson(text, kDepth);
  EXPECT_EQ(scan.repeated, std::nullopt);
  return scan.too_many_values;
}

TEST(JsonScanTest, EachKindOfValueCountsAndEachName) {
  constexpr size_t kMost = 65'536 + 300'000 / 4;
  struct Row {
    const char* item;
    size_t values;
  };
  for (const Row& row : {Row{"0", 1}, Row{"-1", 1}, Row{"18446744073709551615", 1}, Row{"1.5", 1}, Row{"true", 1},
                         Row{"null", 1}, Row{R"("a long text with \n")", 1}, Row{"[]", 1}, Row{"{}", 1},
                         Row{R"({"a":0})", 3}, Row{R"([[0],{"b":[false]}])", 7}}) {
    EXPECT_FALSE(HasTooMany(kMost, row.item, row.values)) << row.item;
    EXPECT_TRUE(HasTooMany(kMost + 1, row.item, row.values)) << row.item;
  }
}

TEST(JsonScanTest, OfTwoFaultsTheFirstIsFound) {
  std::string text = "[";
  for (size_t i = 0; i < 200'000; ++i) text += "0,";
  const JsonScan scan = ScanJson(text + R"({"a":1,"a":2}])", kDepth);
  EXPECT_TRUE(scan.too_many_values);
  EXPECT_EQ(scan.repeated, std::nullopt);
}

}  // namespace
}  // namespace inferflux
