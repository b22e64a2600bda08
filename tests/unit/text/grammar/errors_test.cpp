// What is said of grammars that cannot be used, word for word, and each bound of a grammar at its edge.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

using testing::ErrorOf;
using testing::Gbnf;
using testing::Regex;
using testing::Schema;

GrammarSpec OfLark(std::string source) { return {.kind = GrammarSpec::Kind::kLark, .source = std::move(source)}; }

std::string Repeat(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string List(size_t count, const std::function<std::string(size_t)>& item) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + item(i);
  return out;
}

std::string Number(size_t value) { return std::to_string(value); }

TEST(GrammarErrors, AreTheseWordForWord) {
  std::ifstream file(INFERFLUX_SOURCE_DIR "/tests/data/grammar/errors.json");
  std::stringstream text;
  text << file.rdbuf();
  const auto cases = boost::json::parse(text.str()).as_array();
  for (const auto& each : cases) {
    const std::string kind(each.at(0).as_string()), source(each.at(1).as_string());
    const GrammarSpec spec = kind == "regex"  ? Regex(source)
                             : kind == "gbnf" ? Gbnf(source)
                             : kind == "lark" ? OfLark(source)
                                              : Schema(source);
    EXPECT_EQ(ErrorOf(spec), std::string_view(each.at(2).as_string())) << kind << "\n" << source;
  }
  EXPECT_GT(cases.size(), 200u);
}

struct Bound {
  const char* what;
  std::function<GrammarSpec(size_t)> grammar;
  size_t last;  // the most that is taken
  std::string beyond;
};

void ExpectReachedAndNotPassed(const std::vector<Bound>& bounds) {
  for (const Bound& bound : bounds) {
    EXPECT_EQ(ErrorOf(bound.grammar(bound.last)), "") << bound.what;
    EXPECT_EQ(ErrorOf(bound.grammar(bound.last + 1)), bound.beyond) << bound.what;
  }
}

TEST(GrammarBounds, OfTextsAndOfGroups) {
  ExpectReachedAndNotPassed({
      {"groups of GBNF", [](size_t n) { return Gbnf("root ::= " + Repeat("(", n) + "\"a\"" + Repeat(")", n)); }, 128,
       "line 1: groups are nested deeper than 128"},
      {"groups of a pattern", [](size_t n) { return Regex(Repeat("(", n) + "a" + Repeat(")", n)); }, 128,
       "at byte 128 of the pattern: groups are nested deeper than 128"},
      {"groups of Lark", [](size_t n) { return OfLark("start: " + Repeat("(", n) + "\"a\"" + Repeat(")", n)); }, 128,
       "line 1: groups are nested deeper than 128"},
      {"rules",
       [](size_t n) {
         std::string rules = "root ::= \"a\"\n";
         for (size_t i = 1; i < n; ++i) rules += "r" + Number(i) + " ::= \"a\"\n";
         return Gbnf(rules);
       },
       4096, "line 4097: there are more than 4096 rules"},
      {"bytes of GBNF", [](size_t n) { return Gbnf("root ::= \"a\"\n" + std::string(n - 13, '#')); }, 262144,
       "the grammar has 262145 bytes; at most 262144 are taken"},
      {"bytes of a pattern", [](size_t n) { return Regex("[" + std::string(n - 2, 'a') + "]"); }, 262144,
       "the pattern has 262145 bytes; at most 262144 are taken"},
      {"bytes of Lark", [](size_t n) { return OfLark("start: \"a\"\n" + std::string(n - 11, '/')); }, 262144,
       "the grammar has 262145 bytes; at most 262144 are taken"},
      {"bytes of a schema", [](size_t n) { return Schema("{}" + std::string(n - 2, ' ')); }, 262144,
       "the schema has 262145 bytes; at most 262144 are taken"},
      {"repetitions", [](size_t n) { return Regex("a{" + Number(n) + "}"); }, 1'000'000,
       "at byte 8 of the pattern: a repetition of more than 1000000 times"},
      {"looks ahead",
       [](size_t n) { return Schema(R"({"type":"string","pattern":"^)" + Repeat("(?=.*a)", n) + R"(.*$"})"); }, 8,
       "at #/pattern: at byte 3 of the pattern: look-around, flags and back references are not supported"},
  });
}

TEST(GrammarBounds, OfSchemasWithinSchemas) {
  const auto nested = [](std::string open, std::string close) {
    return [=](size_t n) { return Schema(Repeat(open, n) + R"({"type":"null"})" + Repeat(close, n)); };
  };
  const std::string deeper = ": schemas are nested deeper than 128";
  ExpectReachedAndNotPassed({
      {"items", nested(R"({"type":"array","items":)", "}"), 128, "at #" + Repeat("/items", 129) + deeper},
      {"alternatives", nested(R"({"anyOf":[)", "]}"), 127, "the schema is not valid JSON: too deep"},
      {"references",
       [](size_t n) {
         const auto leads = [](size_t i) {
           return "\"d" + Number(i) + "\":{\"$ref\":\"#/$defs/d" + Number(i + 1) + "\"}";
         };
         return Schema(R"({"$defs":{)" + List(n, leads) + ",\"d" + Number(n) + R"(":{"type":"null"}},)" +
                       R"("$ref":"#/$defs/d0"})");
       },
       127, "at #/$defs/d128" + deeper},
      {"a name",
       [](size_t n) {
         return Schema(R"({"type":"object","properties":{")" + std::string(n, 'a') +
                       R"(":{"type":"null"}},"additionalProperties":false})");
       },
       1024, "at #/properties/" + std::string(1025, 'a') + ": a name of more than 1024 bytes"},
  });
  EXPECT_EQ(ErrorOf(nested(R"({"type":"object","properties":{"a":)", "}}")(64)), "");
  EXPECT_EQ(ErrorOf(nested(R"({"type":"object","properties":{"a":)", "}}")(65)),
            "at #" + Repeat("/properties/a", 65) + deeper);
  EXPECT_EQ(ErrorOf(nested(R"({"not":)", "}")(32)), "");
  EXPECT_NE(ErrorOf(nested(R"({"not":)", "}")(33)).find("what 'not', 'if' or 'oneOf' excludes is too large a schema"),
            std::string::npos);
}

TEST(GrammarBounds, OfValuesAndCounts) {
  const auto within = [](std::string before, std::string after) {
    return [=](size_t n) { return Schema(before + Number(n) + after); };
  };
  ExpectReachedAndNotPassed({
      {"unique values",
       [](size_t n) {
         return Schema(R"({"type":"array","items":{"enum":[)" + List(n, Number) + R"(]},"uniqueItems":true})");
       },
       200, "at #/items: lists more than 200 values, which must be unique"},
      {"digits of a bound",
       [](size_t n) { return Schema(R"({"type":"number","minimum":1)" + std::string(n - 1, '0') + "}"); }, 18,
       "at #/minimum: must have at most 18 digits"},
      {"digits of a whole bound",
       [](size_t n) { return Schema(R"({"type":"integer","maximum":1)" + std::string(n - 1, '0') + "}"); }, 18,
       "at #/maximum: must have at most 18 digits"},
      {"a divisor", within(R"({"type":"integer","multipleOf":)", "}"), 1000,
       "at #/multipleOf: is supported from 1 to 1000, or that divided by a power of ten up to 10^6"},
      {"places of a divisor",
       [](size_t n) { return Schema(R"({"type":"number","multipleOf":0.)" + std::string(n - 1, '0') + "1}"); }, 6,
       "at #/multipleOf: is supported from 1 to 1000, or that divided by a power of ten up to 10^6"},
      {"a length", within(R"({"type":"string","maxLength":)", "}"), 1'000'000,
       "at #/maxLength: must be an integer from 0 to 1000000"},
      {"items", within(R"({"type":"array","items":{"type":"null"},"minItems":)", "}"), 1'000'000,
       "at #/minItems: must be an integer from 0 to 1000000"},
      {"counted items",
       within(R"({"type":"array","items":{"type":"integer"},"contains":{"const":1},"minContains":)", "}"), 4094,
       "at #/contains: the counts need too many states"},
  });
}

TEST(GrammarBounds, OfUniqueValuesInAnyOrder) {
  const auto schema = [](size_t n) {
    return R"({"type":"array","items":{"enum":[)" + List(n, Number) + R"(]},"uniqueItems":true})";
  };
  testing::ExpectMatches(schema(8), {"[7,6,5,4,3,2,1,0]", "[0,1,2,3,4,5,6,7]", "[3,0]", "[]"}, {"[0,0]", "[8]"});
  testing::ExpectMatches(schema(9), {"[0,1,2,3,4,5,6,7,8]", "[0,8]", "[]"}, {"[8,0]", "[0,0]", "[9]"});
}

TEST(GrammarTexts, EachCharacterOfGeneralJson) {
  const auto grammar = testing::CompileOrFail({.kind = GrammarSpec::Kind::kJsonObject});
  const char* const taken[] = {"{}",
                               "{ }",
                               "{\"a\":1}",
                               "{\n\"a\": 1\n}",
                               "{\n\n\"a\": 1\n\n}",
                               "{\n  \"a\": [\n    1,\n    2\n  ]\n}",
                               "{\"a\": [1, 2.5, -3e5, 0, -0, 1E+2, 1e-2, true, false, null, \"x\", {}, []]}",
                               "{\"\": \"\\u00e9\\n\\\\\\\"\\/\\b\\f\\r\\t\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82\"}"};
  const char* const refused[] = {"",
                                 "[]",
                                 "1",
                                 "{\"a\":01}",
                                 "{\"a\":1.}",
                                 "{\"a\":.5}",
                                 "{\"a\":+1}",
                                 "{\"a\":1,}",
                                 "{a:1}",
                                 "{\"a\" 1}",
                                 "{\"a\":tru}",
                                 "{\"a\":\"\n\"}",
                                 "{\"a\":1e}",
                                 "{'a':1}",
                                 "{\"a\":[1,]}",
                                 "{\n\n\n\"a\": 1}",
                                 "{\"\\q\":1}",
                                 "{\"\\u12\":1}"};
  for (const char* text : taken) EXPECT_TRUE(testing::Matches(grammar, text)) << text;
  for (const char* text : refused) EXPECT_FALSE(testing::Matches(grammar, text)) << text;
}

}  // namespace
}  // namespace inferflux::text
