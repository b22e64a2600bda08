// Where the pre-tokenisers cut: the expected pieces were made by HF tokenizers with the models' own patterns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <sstream>

#include "text/tokenizer/pre_tokenizer.h"

namespace inferflux::text {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Split(std::string_view name, std::string_view text) {
  const auto splitter = PreTokenizer::Create(name);
  EXPECT_TRUE(splitter) << splitter.error().message;
  std::vector<uint32_t> ends;
  splitter->Split(text, ends);
  std::vector<std::string> pieces;
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  std::istringstream list(PreTokenizerNames());
  for (std::string name; list >> name;) names.push_back(name.ends_with(',') ? name.substr(0, name.size() - 1) : name);
  return names;
}

TEST(PreTokenizer, EveryNameCompilesAndLosesNothing) {
  const std::string text =
      "Hello, World's 1234567 x\t\n\n  y \xC3\xA9\xE4\xB8\xAD\xE6\x96\x87 IMGIMGABZ!! camelCase 12a \n ";
  ASSERT_GT(AllNames().size(), 60U);
  for (const std::string& name : AllNames()) {
    std::string joined;
    for (const std::string& piece : Split(name, text)) {
      EXPECT_FALSE(piece.empty()) << name;
      joined += piece;
    }
    EXPECT_EQ(joined, text) << name;
  }
}

TEST(PreTokenizer, WordsOfTheGreatFamilies) {
  EXPECT_THAT(Split("gpt-2", "I'm  12345\n\nok"), ElementsAre("I", "'m", " ", " 12345", "\n", "\n", "ok"));
  EXPECT_THAT(Split("llama-bpe", "I'M  12345\n\nok"), ElementsAre("I", "'M", " ", " ", "123", "45", "\n\n", "ok"));
  EXPECT_THAT(Split("qwen2", "a 123!\n\n"), ElementsAre("a", " ", "1", "2", "3", "!\n\n"));
  EXPECT_THAT(Split("gpt-4o", "camelCase I'm /\n"), ElementsAre("camel", "Case", " I'm", " /\n"));
  EXPECT_THAT(Split("tekken", "HELLOworld 12"), ElementsAre("HELLOworld", " ", "1", "2"));
  EXPECT_THAT(Split("starcoder", "v12 a"), ElementsAre("v", "1", "2", " a"));
  EXPECT_THAT(Split("deepseek-v3", "x=1234 \xE4\xB8\xAD\xE6\x96\x87 .a"),
              ElementsAre("x", "=", "123", "4", " ", "\xE4\xB8\xAD\xE6\x96\x87", " .", "a"));
}

TEST(PreTokenizer, GroupsDigitsFromTheRight) {
  EXPECT_THAT(Split("superbpe", "a1234567b"), ElementsAre("a", "1", "234", "567", "b"));
  EXPECT_THAT(Split("afmoe", "1234 123456"), ElementsAre("1", "234", " ", "123", "456"));
  EXPECT_THAT(Split("tiny_aya", "1234567"), ElementsAre("1", "234", "567"));
  EXPECT_THAT(Split("tiny_aya", "1234x"), ElementsAre("123", "4", "x"));  // no word boundary behind the run
}

// No pattern may take more than linear time, nor more stack than there is.
TEST(PreTokenizer, LongRunsTakeLinearTime) {
  constexpr size_t kBytes = 200'000;
  std::set<const PreTokenizerRules*> seen;
  for (const std::string& name : AllNames()) {
    if (!seen.insert(FindPreTokenizer(name)).second) continue;
    for (const std::string_view unit :
         {"a", "A", "1", " ", "\n", "!", "'", " a", "\xCC\x81", "\xE4\xB8\xAD", "\x01", "aA", " \n"}) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      const auto start = std::chrono::steady_clock::now();
      Split(name, text);
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3)) << name << ": '" << unit << "'";
    }
  }
}

}  // namespace
}  // namespace inferflux::text
