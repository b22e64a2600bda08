#include "config/value_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace inferflux::config {
namespace {

using ::testing::HasSubstr;

std::string Why(const Key& key, std::string_view text) {
  const auto parsed = ParseValue(key, text, "the test");
  return parsed ? "" : parsed.error().message;
}

TEST(ValueParserTest, IntegersReachFromTheLeastToTheMost) {
  const Key key{.name = "n", .type = Type::kInteger, .initial = "", .help = "", .min = -2, .max = 7};
  for (const auto& [text, value] : {std::pair{"-2", -2}, {"0", 0}, {"7", 7}})
    EXPECT_EQ(ParseValue(key, text, ""), value);
  for (const char* wrong : {"-3", "8", "", "1.5", "7x", " 7", "99999999999999999999"}) {
    EXPECT_EQ(Why(key, wrong), fmt::format("n = '{}' (the test): it must be an integer from -2 to 7", wrong));
  }
  EXPECT_NE(Why(key, "1K"), "") << "no size";
}

TEST(ValueParserTest, SizesHaveUnitsOf1024AndOf1000) {
  const Key key{.name = "s", .type = Type::kBytes, .initial = "", .help = "", .min = 0, .max = INT64_MAX};
  for (const auto& [text, value] : {std::pair<const char*, int64_t>{"3", 3},
                                    {"3K", 3072},
                                    {"3KiB", 3072},
                                    {"3KB", 3000},
                                    {"3 MiB", 3145728},
                                    {"3M", 3145728},
                                    {"3MB", 3000000},
                                    {"3GiB", 3221225472},
                                    {"3G", 3221225472},
                                    {"3GB", 3000000000},
                                    {"3TiB", 3298534883328},
                                    {"3T", 3298534883328},
                                    {"3TB", 3000000000000}}) {
    EXPECT_EQ(ParseValue(key, text, ""), value) << text;
  }
  EXPECT_THAT(Why(key, "9000000TiB"), HasSubstr("a size (such as 64MiB or 2GB) from 0 to"));
  for (const char* wrong : {"K", "3k", "3KiB ", "3B", "-1"}) EXPECT_NE(Why(key, wrong), "") << wrong;
}

TEST(ValueParserTest, ASwitchIsTrueOrFalse) {
  const Key key{.name = "on", .type = Type::kSwitch, .initial = "", .help = ""};
  EXPECT_EQ(ParseValue(key, "true", ""), 1);
  EXPECT_EQ(ParseValue(key, "false", ""), 0);
  EXPECT_EQ(Why(key, "yes"), "on = 'yes' (the test): it must be true or false");
}

TEST(ValueParserTest, AChoiceIsOneOfItsWords) {
  const Key key{.name = "c", .type = Type::kText, .initial = "", .help = "", .choices = "info|warning|error"};
  for (const char* word : {"info", "warning", "error"}) EXPECT_EQ(Why(key, word), "");
  for (const char* wrong : {"warn", "info|warning", "", "errors"}) {
    EXPECT_EQ(Why(key, wrong), fmt::format("c = '{}' (the test): it must be one of info|warning|error", wrong));
  }
  EXPECT_EQ(Why(Key{.name = "free", .type = Type::kText, .initial = "", .help = ""}, "anything"), "");
}

TEST(ValueParserTest, ADeviceIsANumberInItsRangeOrAWord) {
  const Key key{.name = "d", .type = Type::kDevice, .initial = "", .help = "", .min = -1, .max = 5};
  EXPECT_EQ(ParseValue(key, "-1", ""), -1);
  EXPECT_EQ(ParseValue(key, "5", ""), 5);
  for (const char* word : {"GPU-1234", "0000:01:00.0", "-", "", "5a"}) EXPECT_EQ(ParseValue(key, word, ""), 0) << word;
  for (const char* wrong : {"-2", "6"}) EXPECT_THAT(Why(key, wrong), HasSubstr("a number from -1 to 5, a UUID"));
  EXPECT_EQ(Why(key, std::string(kMaxDeviceBytes, 'x')), "");
  const std::string begins = "ab" + std::string(29, 'x') + "c";
  EXPECT_EQ(Why(key, begins + std::string(kMaxDeviceBytes - 31, 'y')),
            "d = '" + begins + "' (the test): it must have at most 256 bytes");
}

}  // namespace
}  // namespace inferflux::config
