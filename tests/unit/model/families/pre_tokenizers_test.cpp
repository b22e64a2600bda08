// How the pre-tokenizers split text. HF tokenizers made the expected pieces with the models' own patterns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <set>
#include <sstream>

#include "model/families/tokenizers/tokenizer_traits.h"
#include "text/tokenizer/pre_tokenizer/pre_tokenizer.h"

namespace inferflux::model {
namespace {

using ::testing::ElementsAre;
using text::PreTokenizer;
using text::PreTokenizerStage;
using text::RegexSplitter;
using text::WordScanner;

std::vector<std::string> Split(std::string_view name, std::string_view text) {
  const auto splitter = PreTokenizer::Create(FindPreTokenizer(name)->rules);
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
  EXPECT_THAT(Split("tiny_aya", "1234x"), ElementsAre("123", "4", "x"));  // no word boundary after the run
  EXPECT_THAT(Split("tiny_aya", "1234\xC2\xBD"), ElementsAre("123", "4\xC2\xBD"));
}

// The scanners are faster implementations of their patterns.
TEST(PreTokenizer, ScannersAgreeWithTheirPatterns) {
  std::mt19937 random(2);
  constexpr std::string_view kParts[] = {"a",
                                         "b",
                                         "S",
                                         "T",
                                         "'",
                                         "'s",
                                         "'Ll",
                                         "'\xC5\xBF",
                                         "1",
                                         "23",
                                         "\xC2\xBD",
                                         " ",
                                         "  ",
                                         "\n",
                                         "\r\n",
                                         "\t",
                                         "/",
                                         "!",
                                         ".",
                                         "_",
                                         "\x01",
                                         "\xCC\x81",
                                         "\xC3\x89",
                                         "\xC3\xA9",
                                         "\xC7\x85",
                                         "\xCA\xB0",
                                         "\xE4\xB8\xAD",
                                         "\xD9\xA1",
                                         "\xC2\xA0",
                                         "\xE3\x80\x80",
                                         "\xE2\x80\xA8",
                                         "\xF0\x9F\x98\x80",
                                         "\xE0\xA4\xBF"};
  std::set<std::string_view> seen;
  for (const std::string& name : AllNames()) {
    for (const PreTokenizerStage& stage : FindPreTokenizer(name)->rules.stages) {
      if (stage.scanner.family == WordScanner::Family::kNone || !seen.insert(stage.pattern).second) continue;
      const auto regex = RegexSplitter::Compile(stage.pattern);
      ASSERT_TRUE(regex) << regex.error().message;
      for (int round = 0; round < 20000; ++round) {
        std::string text;
        for (uint32_t i = random() % 12; i-- > 0;) text += kParts[random() % std::size(kParts)];
        std::vector<uint32_t> expected;
        std::vector<uint32_t> got;
        regex->Split(text, 7, expected);
        stage.scanner.Split(text, 7, got);
        ASSERT_EQ(got, expected) << name << ": " << ::testing::PrintToString(text);
      }
    }
  }
  EXPECT_GE(seen.size(), 7U);
}

// No pattern may take more than linear time or overflow the stack.
TEST(PreTokenizer, LongRunsTakeLinearTime) {
  constexpr size_t kBytes = 200'000;
  std::set<const PreTokenizerStage*> seen;
  for (const std::string& name : AllNames()) {
    if (!seen.insert(FindPreTokenizer(name)->rules.stages.data()).second) continue;
    for (const std::string_view unit :
         {"a", "A", "1", " ", "\n", "!", "'", " a", "\xCC\x81", "\xE4\xB8\xAD", "\x01", "aA", " \n"}) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      const std::clock_t start = std::clock();
      Split(name, text);
      EXPECT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC) << name << ": '" << unit << "'";
    }
  }
}

}  // namespace
}  // namespace inferflux::model
