#include "scheduler/output/stop_matcher.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "unicode/utf8.h"

namespace inferflux::scheduler {
namespace {

// The rule by its definition: the shortest prefix of the text that contains a stop string, cut before the longest stop
// string that it ends with.
std::optional<std::string> CutByTheBook(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const auto& stop : stops) {
      if (end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return std::nullopt;
}

TEST(StopMatcher, LetsTextThroughAtOnceWhereNothingCanFollow) {
  StopMatcher matcher({"\n\n", "END"});
  EXPECT_EQ(matcher.Push("Hello"), "Hello");
  EXPECT_EQ(matcher.Push(", world"), ", world");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, HoldsBackWhatCouldBeginAStopStringAndNoMore) {
  StopMatcher matcher({"\n\nUser:"});
  EXPECT_EQ(matcher.Push("Yes.\n"), "Yes.");
  EXPECT_EQ(matcher.Push("\nUs"), "");
  EXPECT_EQ(matcher.Push("eful"), "\n\nUseful");
  EXPECT_FALSE(matcher.matched());
}

TEST(StopMatcher, AStopStringAcrossPiecesNeverLeaves) {
  StopMatcher matcher({"STOP"});
  EXPECT_EQ(matcher.Push("a S"), "a ");
  EXPECT_EQ(matcher.Push("TO"), "");
  EXPECT_EQ(matcher.Push("P and more"), "");
  EXPECT_TRUE(matcher.matched());
  EXPECT_EQ(matcher.Push("again"), "");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, AnEndWithoutAMatchGivesBackWhatWasHeld) {
  StopMatcher matcher({"STOP"});
  EXPECT_EQ(matcher.Push("a STO"), "a ");
  EXPECT_EQ(matcher.Finish(), "STO");
}

TEST(StopMatcher, SelfOverlappingStopsAreFoundWhereTheyBegin) {
  StopMatcher matcher({"aab"});
  EXPECT_EQ(matcher.Push("aaa"), "a");
  EXPECT_EQ(matcher.Push("ab"), "a");
  EXPECT_TRUE(matcher.matched());
}

TEST(StopMatcher, OfOverlappingStopsTheOneThatIsCompleteFirstWins) {
  StopMatcher whole({"abcd", "bc"});
  EXPECT_EQ(whole.Push("xabcd"), "xa");
  StopMatcher pieces({"abcd", "bc"});
  EXPECT_EQ(pieces.Push("xab"), "x");
  EXPECT_EQ(pieces.Push("c"), "a");
  EXPECT_TRUE(pieces.matched());
  StopMatcher same_end({"c", "abc"});
  EXPECT_EQ(same_end.Push("xabc"), "x");
  EXPECT_EQ(whole.match(), "bc");
  EXPECT_EQ(same_end.match(), "abc");
}

TEST(StopMatcher, WholeCharactersOnly) {
  StopMatcher matcher({"ö!"});
  EXPECT_EQ(matcher.Push("schö"), "sch");
  EXPECT_EQ(matcher.Push("n"), "ön");
  EXPECT_EQ(matcher.Push("ö!"), "");
  EXPECT_TRUE(matcher.matched());
}

TEST(StopMatcher, AnyCutOfAnyTextGivesWhatTheRuleSays) {
  std::mt19937 random(11);
  const std::vector<std::string> letters{"a", "b", "ä", "b", "é"};
  const auto word = [&](int length) {
    std::string text;
    for (int i = 0; i < length; ++i) text += letters[random() % letters.size()];
    return text;
  };
  int matches = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> stops;
    for (unsigned i = random() % 4; i-- > 0;) stops.push_back(word(1 + static_cast<int>(random() % 4)));
    const std::string text = word(static_cast<int>(random() % 24));
    StopMatcher matcher(stops);
    std::string out;
    for (size_t at = 0; at < text.size();) {
      size_t piece = std::min<size_t>(1 + random() % 5, text.size() - at);
      while (at + piece < text.size() && (text[at + piece] & 0xc0) == 0x80) ++piece;  // as the detokenizer splits text
      const std::string released = matcher.Push(text.substr(at, piece));
      ASSERT_TRUE(unicode::IsValidUtf8(released));
      out += released;
      at += piece;
    }
    const auto expected = CutByTheBook(text, stops);
    ASSERT_EQ(matcher.matched(), expected.has_value());
    if (!expected) out += matcher.Finish();
    ASSERT_EQ(out, expected.value_or(text)) << "text " << text;
    matches += expected ? 1 : 0;
  }
  EXPECT_GT(matches, 1000);
}

}  // namespace
}  // namespace inferflux::scheduler
