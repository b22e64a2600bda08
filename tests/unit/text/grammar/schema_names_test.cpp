// Schemas in which several patterns, lengths and lists constrain one string, or the names of members.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "text/grammar/automaton/char_automaton.h"
#include "text/grammar/grammar_text.h"
#include "text/grammar/regex_parser.h"

namespace inferflux::text {
namespace {

using testing::ExpectMatches;
using testing::Matches;
using testing::Schema;

// Combined automata, compared with the result of each pattern separately.
TEST(CharAutomatonTest, IntersectionsAndDifferencesAreWhatBothSay) {
  std::vector<CharAutomaton> parts;
  for (const char* pattern : {"^a*b?$", "ab|日", "^[^a]{1,3}$", "(ab)+$", "^.{2,4}$", "b.b", ""}) {
    auto parsed = ParseRegex(pattern, RegexScope::kSearch);
    ASSERT_TRUE(parsed) << pattern;
    auto automaton = CharAutomaton::Of(**parsed);
    ASSERT_TRUE(automaton) << pattern;
    parts.push_back(std::move(*automaton));
  }
  std::mt19937 random(11);
  const std::vector<std::string> letters = {"a", "b", "日", "\n", "🙂"};
  for (const CharAutomaton& a : parts) {
    for (const CharAutomaton& b : parts) {
      const auto both = a.And(b), first = a.Without(b);
      ASSERT_TRUE(both && first);
      for (int i = 0; i < 300; ++i) {
        std::string text;
        for (size_t length = random() % 6; length > 0; --length) text += letters[random() % letters.size()];
        ASSERT_EQ(both->Matches(text), a.Matches(text) && b.Matches(text)) << text;
        ASSERT_EQ(first->Matches(text), a.Matches(text) && !b.Matches(text)) << text;
      }
      EXPECT_EQ(b.And(*first)->empty(), true);
    }
  }
  EXPECT_FALSE(CharAutomaton::OfLength(0, 1'000'000));
}

TEST(SchemaNamesTest, PatternsFormatsAndLengthsHoldTogether) {
  ExpectMatches(R"({"type":"string","pattern":"^[a-z]+$","minLength":2,"maxLength":4})", {R"("ab")", R"("abcd")"},
                {R"("a")", R"("abcde")", R"("aB")"});
  ExpectMatches(R"({"type":"string","pattern":"ß","maxLength":3})", {R"("ß")", R"("\"ß\n")"}, {R"("aßbc")", R"("ss")"});
  ExpectMatches(R"({"type":"string","format":"email","pattern":"\\.org$","maxLength":12})", {R"("ab@cd.org")"},
                {R"("ab@cd.com")", R"("abcdef@cd.org")", R"("x.org")"});
  EXPECT_NE(testing::ErrorOf(Schema(R"({"type":"string","pattern":"^a+$","minLength":9,"maxLength":3})")), "");
}

TEST(SchemaNamesTest, AMembersSchemaIsThatOfAllPatternsItsNameMatches) {
  ExpectMatches(R"({"type":"object","properties":{"id":{"type":"integer"},"x-id":{"type":"integer"}},
                    "patternProperties":{"^x-":{"minimum":5},"z$":{"type":"boolean"}},"additionalProperties":false})",
                {"{}", R"({"id":1,"x-id":7,"x-a":7,"az":true})", R"({"x-a":5.5})"},
                {R"({"x-id":3})", R"({"x-a":1})", R"({"az":1})", R"({"other":1})", R"({"x-z":true,"x-z":1})"});
  ExpectMatches(R"({"type":"object","patternProperties":{"^[a-c]+$":{"type":"integer"},"b":{"maximum":9}},
                    "additionalProperties":{"type":"null"}})",
                {R"({"a":10,"b":9,"\"b":8.5,"d":null})"},
                {R"({"ab":10})", R"({"a":null})", R"({"d":1})", R"({"xb":10})"});
  ExpectMatches(R"({"type":"object","required":["x-a","b"],"patternProperties":{"^x-":{"type":"integer"}}})",
                {R"({"x-a":1,"b":"any"})"}, {R"({"x-a":"1","b":1})", R"({"b":1})"});
  ExpectMatches(R"({"allOf":[{"patternProperties":{"^a":{"minimum":1}}},{"patternProperties":{"a$":{"type":"integer"},
                    "^a":{"maximum":3}},"type":"object"}]})",
                {R"({"a":2,"ab":3,"ba":7,"x":"y"})"}, {R"({"a":0})", R"({"a":1.5})", R"({"ab":4})", R"({"ba":"x"})"});
}

TEST(SchemaNamesTest, NamesAreHeldToTheirSchema) {
  ExpectMatches(R"({"type":"object","propertyNames":{"pattern":"^[a-z]{2}$","not":{"enum":["no"]}},
                    "properties":{"ab":{"type":"integer"},"Long":true},"additionalProperties":{"type":"null"}})",
                {R"({"ab":1,"cd":null})", "{}"}, {R"({"no":null})", R"({"Long":1})", R"({"abc":null})"});
  ExpectMatches(R"({"type":"object","propertyNames":{"enum":["a","b"]},"minProperties":1})", {R"({"a":1})"},
                {"{}", R"({"c":1})"});
  ExpectMatches(R"({"type":"object","propertyNames":false})", {"{}"}, {R"({"":1})"});
}

TEST(SchemaNamesTest, SomeMemberMustBeThere) {
  ExpectMatches(R"({"type":"object","properties":{"a":{"type":"integer"},"b":true},"minProperties":1})",
                {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"}, {"{}", R"({"c":1})"});
  ExpectMatches(R"({"type":"object","properties":{"a":true},"additionalProperties":{"type":"null"},"minProperties":1})",
                {R"({"z":null})", R"({"a":1})"}, {"{}"});
}

TEST(SchemaNamesTest, MultiplesOfWholeNumbers) {
  ExpectMatches(R"({"type":"integer","multipleOf":7})", {"0", "7", "-14", "700000000007"},
                {"1", "-0", "08", "15", "7.0"});
  ExpectMatches(R"({"type":"number","multipleOf":25,"minimum":-60,"exclusiveMaximum":125})", {"-50", "0", "100"},
                {"-75", "125", "10", "2.5"});
  ExpectMatches(R"({"allOf":[{"type":"integer","multipleOf":4},{"multipleOf":6}]})", {"12", "24"}, {"4", "6", "8"});
}

TEST(SchemaNamesTest, ListsOfSchemasUnderItems) {
  ExpectMatches(R"({"type":"array","items":[{"type":"integer"},{"type":"string"}],"additionalItems":{"type":"null"}})",
                {"[]", R"([1,"a"])", R"([1,"a",null,null])"}, {R"(["a"])", R"([1,"a",2])"});
  ExpectMatches(R"({"type":"array","items":[{"type":"integer"}],"additionalItems":false})", {"[1]"}, {"[1,2]"});
  ExpectMatches(R"({"type":"array","items":{"type":"integer"},"additionalItems":false})", {"[1,2,3]"}, {"[null]"});
}

}  // namespace
}  // namespace inferflux::text
