// Automata of characters: their sizes at each bound, and what the exact numbers of schemas are.
#include "text/grammar/automaton/char_automaton.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

#include "text/grammar/code_ranges.h"
#include "text/grammar/json_schema/types/decimal.h"

namespace inferflux::text {
namespace {

Expr Letters(size_t count) { return Literal(std::string(count, 'a')); }

TEST(CharAutomatonBounds, StatesAreCounted) {
  constexpr uint32_t kMost = CharAutomaton::kMaxStates;
  EXPECT_TRUE(CharAutomaton::OfLength(0, kMost - 1) && CharAutomaton::OfLength(kMost - 1, kUnbounded));
  EXPECT_FALSE(CharAutomaton::OfLength(0, kMost) || CharAutomaton::OfLength(kMost, kUnbounded));
  EXPECT_TRUE(CharAutomaton::Of(*Letters(kMost - 1)));
  const auto refused = CharAutomaton::Of(*Letters(kMost));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "patterns and lengths that must hold together need more than 16384 states");
  const CharAutomaton longest = *CharAutomaton::OfLength(0, kMost - 1);
  EXPECT_TRUE(longest.And(CharAutomaton::Everything()));
  const auto cycle = [](size_t letters) { return *CharAutomaton::Of(*Repeat(Letters(letters), 0, kUnbounded)); };
  EXPECT_TRUE(cycle(127).And(cycle(128)));
  EXPECT_FALSE(cycle(128).And(cycle(129)) || cycle(128).Without(cycle(129)));
}

// Of many ways to the same texts, few states are left; before, there may be 65535.
TEST(CharAutomatonBounds, WaysAreCounted) {
  const auto ways = [](size_t count) {
    return CharAutomaton::Of(*Choice(std::vector<Expr>(count, OneOf({{'a', 'a'}}))));
  };
  const auto most = ways(65'533);
  ASSERT_TRUE(most);
  EXPECT_TRUE(most->Matches("a"));
  EXPECT_FALSE(ways(65'534));
  const auto nothings = [](size_t count) {
    return CharAutomaton::Of(*Sequence(std::vector<Expr>(count, Literal(""))));
  };
  EXPECT_TRUE(nothings(999'998));
  EXPECT_FALSE(nothings(999'999));
}

TEST(CharAutomatonBounds, WorkIsTheStatesOfAllThatWasCombined) {
  const CharAutomaton two = *CharAutomaton::Of(*Letters(2)), three = *CharAutomaton::Of(*Letters(3));
  EXPECT_EQ(two.work(), 3u);
  EXPECT_EQ(three.work(), 4u);
  EXPECT_EQ(CharAutomaton::Everything().work(), 0u);
  EXPECT_EQ(CharAutomaton::OfLength(1, 2)->work(), 0u);
  EXPECT_EQ(two.And(CharAutomaton::Everything())->work(), 6u);
  EXPECT_EQ(two.And(three)->work(), 10u) << "three pairs, though nothing matches both";
  EXPECT_EQ(two.Without(three)->work(), 10u);
  EXPECT_EQ(two.And(three)->And(two)->work(), 13u) << "the empty language needs no pair";
}

TEST(CharAutomatonBounds, RangesMeetAtTheirEnds) {
  const auto of = [](std::vector<CodeRange> ranges) { return *CharAutomaton::Of(*OneOf(Normalise(ranges))); };
  const auto taken = [](const Result<CharAutomaton>& automaton) {
    std::string out;
    for (char c = 'a'; c <= 'j'; ++c) {
      if (automaton->Matches(std::string(1, c))) out += c;
    }
    return out;
  };
  EXPECT_EQ(taken(of({{'b', 'h'}}).And(of({{'a', 'b'}, {'d', 'e'}, {'h', 'j'}}))), "bdeh");
  EXPECT_EQ(taken(of({{'b', 'h'}}).Without(of({{'a', 'b'}, {'d', 'e'}, {'h', 'j'}}))), "cfg");
  EXPECT_EQ(taken(of({{'c', 'g'}}).Without(of({{'a', 'b'}, {'h', 'j'}}))), "cdefg");
  EXPECT_EQ(taken(of({{'c', 'd'}, {'f', 'g'}}).Without(of({{'d', 'f'}}))), "cg");
  const auto next = CharAutomaton::Of(*OneOf({{'b', 'c'}, {'d', 'e'}, {'f', 'f'}, {'h', 'h'}}));
  EXPECT_EQ(taken(next), "bcdefh") << "ranges that follow each other are one";
  EXPECT_EQ(taken(next->Without(of({{'d', 'd'}}))), "bcefh");
  EXPECT_FALSE(of({{'b', 'h'}}).Matches("") || of({{'b', 'h'}}).Matches("bb"));
}

TEST(CharAutomatonBounds, MultiplesHaveDigitsASignAndAPoint) {
  const CharAutomaton ones = CharAutomaton::OfMultiples(1, 0);
  std::string taken;
  for (char c = ' '; c < 0x7F; ++c) {
    if (ones.Matches(std::string(1, c))) taken += c;
  }
  EXPECT_EQ(taken, "0123456789");
  const auto is = [](uint32_t divisor, uint32_t places, const char* text) {
    return CharAutomaton::OfMultiples(divisor, places).Matches(text);
  };
  for (const char* text : {"0", "-0", "7", "49", "007", "7.0", "7.00"}) EXPECT_TRUE(is(7, 0, text)) << text;
  for (const char* text : {"", "-", "8", "7.", ".0", "7.1", "7.01", "0.7", "7-", "+7"})
    EXPECT_FALSE(is(7, 0, text)) << text;
  for (const char* text : {"0.25", "0.5", "1", "1.75", "1.750", "0.0", "-0.25"}) EXPECT_TRUE(is(25, 2, text)) << text;
  for (const char* text : {"0.2", "0.24", "0.255", "0.26", "0.", "0.251"}) EXPECT_FALSE(is(25, 2, text)) << text;
}

std::string ExactText(const char* number) {
  const auto exact = ExactDecimal(boost::json::parse(number));
  return exact ? std::to_string(exact->digits) + "/10^" + std::to_string(exact->places) : "none";
}

TEST(ExactDecimals, HaveTheirDigitsAndPlaces) {
  for (const auto& [number, exact] : {std::pair{"0", "0/10^0"},
                                      {"0.0", "0/10^0"},
                                      {"120", "120/10^0"},
                                      {"120.0", "120/10^0"},
                                      {"-7", "-7/10^0"},
                                      {"0.1", "1/10^1"},
                                      {"-0.25", "-25/10^2"},
                                      {"1.1", "11/10^1"},
                                      {"2.2", "22/10^1"},
                                      {"0.001", "1/10^3"},
                                      {"10.01", "1001/10^2"},
                                      {"999999999999999999", "999999999999999999/10^0"},
                                      {"1000000000000000000", "none"},
                                      {"-999999999999999999", "-999999999999999999/10^0"},
                                      {"-1000000000000000000", "none"},
                                      {"18446744073709551615", "none"},
                                      {"1e16", "none"},
                                      {"1e-17", "none"},
                                      {"true", "none"},
                                      {"\"1\"", "none"}}) {
    EXPECT_EQ(ExactText(number), exact) << number;
  }
}

TEST(ExactDecimals, AreMultiplesOrNotOrTooLong) {
  const auto multiple = [](const char* number, const char* divisor) {
    const auto is = IsMultiple(boost::json::parse(number), boost::json::parse(divisor));
    return is ? (*is ? "yes" : "no") : "unknown";
  };
  EXPECT_STREQ(multiple("2.2", "1.1"), "yes");
  EXPECT_STREQ(multiple("3", "1.1"), "no");
  EXPECT_STREQ(multiple("0.3", "0.1"), "yes");
  EXPECT_STREQ(multiple("0.35", "0.1"), "no");
  EXPECT_STREQ(multiple("-6", "4"), "no");
  EXPECT_STREQ(multiple("-8", "4"), "yes");
  EXPECT_STREQ(multiple("0", "7"), "yes");
  EXPECT_STREQ(multiple("1", "0"), "unknown");
  EXPECT_STREQ(multiple("1", "-1"), "unknown");
  EXPECT_STREQ(multiple("99999999999999999", "0.1"), "yes");
  EXPECT_STREQ(multiple("100000000000000000", "0.1"), "unknown") << "it would have 19 digits";
  EXPECT_STREQ(multiple("-100000000000000000", "0.1"), "unknown");
  EXPECT_STREQ(multiple("0.1", "99999999999999999"), "no");
  EXPECT_STREQ(multiple("0.1", "100000000000000000"), "unknown");
}

}  // namespace
}  // namespace inferflux::text
