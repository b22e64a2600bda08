// Compared with lark 1.2 (Earley parser, dynamic lexer) by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "text/grammar/grammar_text.h"
#include "text/grammar/lark_parser.h"

namespace inferflux::text {
namespace {

using testing::CompileOrFail;
using ::testing::HasSubstr;
using testing::Matches;

GrammarSpec Lark(std::string source) { return {.kind = GrammarSpec::Kind::kLark, .source = std::move(source)}; }

TEST(LarkTest, RulesTerminalsAndWhatIsIgnored) {
  const auto grammar = CompileOrFail(Lark(R"lark(
// sums, with white space anywhere
?start: expr
expr: term
    | expr "+" term   -> add
    | expr "-" term   -> subtract   // left recursion
term: factor (("*" | "/") factor)*
!factor: NUMBER | "(" expr ")" | NAME [call]
call: "(" [expr ("," expr)*] ")"
NAME.2: ("_" | LETTER) ("_" | LETTER | DIGIT)*

%import common.NUMBER
%import common (LETTER, DIGIT)
%import common.WS -> SPACE
%ignore SPACE
# the end
)lark"));
  for (const char* text : {"1", " 1 +2* x9 ", "(1.5e3 - (_a))\n/ 7", "f()", "f(1, g(x) - 2)", "a-b-c"}) {
    EXPECT_TRUE(Matches(grammar, text)) << text;
  }
  for (const char* text : {"", "+1", "1+", "(1", "f(,)", "1..2", "f(1 2)"})
    EXPECT_FALSE(Matches(grammar, text)) << text;
}

TEST(LarkTest, StringsRangesAndRepetitions) {
  const auto grammar =
      CompileOrFail(Lark("start: \"Select\"i \" \" NAME (\", \" NAME)~0..2 [/ limit [0-9]{1,3}/] \";\"?\nNAME: "
                         "(\"a\"..\"f\" | \"é\")+\n"));
  for (const char* text : {"select a", "SELECT abé, f", "sElEcT a, b, c limit 12;"}) {
    EXPECT_TRUE(Matches(grammar, text)) << text;
  }
  for (const char* text : {"select g", "select a, b, c, d", "select a limit 1234", "select  a", "selecta"}) {
    EXPECT_FALSE(Matches(grammar, text)) << text;
  }
  const auto exact = CompileOrFail(Lark(R"(start: "\n" "\"" "a/b" /c\/d/ "x"~3 ("y" "z"?)+)"));
  EXPECT_TRUE(Matches(exact, "\n\"a/bc/dxxxyzy"));
  EXPECT_FALSE(Matches(exact, "\n\"a/bc/dxxyz"));
}

TEST(LarkTest, TheLibrarysTerminalsAreTheirs) {
  const auto matches = [](const std::string& name, const char* text) {
    return Matches(CompileOrFail(Lark("start: " + name + "\n%import common." + name)), text);
  };
  EXPECT_TRUE(matches("ESCAPED_STRING", R"("a \" b\\")"));
  EXPECT_FALSE(matches("ESCAPED_STRING", R"("a" b")"));
  EXPECT_TRUE(matches("SIGNED_FLOAT", "-1.e5"));
  EXPECT_FALSE(matches("SIGNED_FLOAT", "-1"));
  EXPECT_TRUE(matches("SIGNED_NUMBER", "+1"));
  EXPECT_TRUE(matches("C_COMMENT", "/* a **/"));
  EXPECT_FALSE(matches("C_COMMENT", "/* a */ */"));
  EXPECT_TRUE(matches("NEWLINE", "\r\n\n"));
  EXPECT_FALSE(matches("CNAME", "9a"));
  EXPECT_TRUE(matches("WS", " \n\t"));
}

TEST(LarkTest, WhatCannotBeTakenIsNamedWithItsLine) {
  const auto error = [](const std::string& source) {
    const auto compiled = CompileGrammar(Lark(source));
    return compiled ? std::string("none") : compiled.error().message;
  };
  EXPECT_THAT(error("start: a\n\na: \"x\" b"), HasSubstr("line 3: 'b' is used, but not defined"));
  EXPECT_THAT(error("begin: \"x\""), HasSubstr("there is no rule 'start'"));
  EXPECT_THAT(error("start: pair{\"x\"}"), HasSubstr("line 1: 'pair' is a template"));
  EXPECT_THAT(error("start: \"x\"\n%import python.NAME"), HasSubstr("line 2: only terminals of 'common'"));
  EXPECT_THAT(error("start: \"x\"\n%import common.NAME"), HasSubstr("'common' has no terminal 'NAME'"));
  EXPECT_THAT(error("%declare X\nstart: X"), HasSubstr("line 1: '%declare' is not supported"));
  EXPECT_THAT(error("start: /a/i"), HasSubstr("flags of regular expressions, such as 'i'"));
  EXPECT_THAT(error("start: /(?=a)b/"), HasSubstr("line 1: in /(?=a)b/:"));
  EXPECT_THAT(error("start: A\nA: b\nb: \"x\""), HasSubstr("line 2: a terminal cannot contain the rule 'b'"));
  EXPECT_THAT(error("start: \"a"), HasSubstr("the line ends inside a string"));
  EXPECT_THAT(error("start: (\"a\""), HasSubstr("a ')' is missing"));
  EXPECT_THAT(error("start: \"a\" )"), HasSubstr("')' is not expected here"));
  EXPECT_THAT(error("start: a\na: b \"x\" | \"y\"\nb: a \"z\""), HasSubstr("left-recursive"));
  EXPECT_THAT(error("start[lazy]: \"a\""), HasSubstr("attributes"));
  EXPECT_THAT(error("start: \"b\"..\"a\""), HasSubstr("the lower one first"));
  EXPECT_THAT(error("start: \"a\"~3..2"), HasSubstr("3 to 2 times"));
}

// As PyPI's guidance 0.3.1 writes them: select, gen with a regular expression, a stop, a schema, repetitions.
TEST(LarkTest, GuidancesGrammarsAreTaken) {
  const auto guided = [](const std::string& rules) { return CompileOrFail(Lark("%llguidance {}\n\n" + rules)); };
  const auto counted = guided(
      "start: \"n = \" NUM{2,3} x\nNUM: /[0-9]+(?s:.)/\nx[capture=\"__LIST_APPEND:x\"]: X\nX: \"a\"\n | \"b\"\n");
  for (const char* text : {"n = 1,2,a", "n = 12\n3;4;b"}) EXPECT_TRUE(Matches(counted, text)) << text;
  for (const char* text : {"n = 1,a", "n = 1,2,", "n = 1,2,3,4,a"}) EXPECT_FALSE(Matches(counted, text)) << text;

  const auto stopped = guided("start: name \"!\"\nname[capture, stop=\"aab\"]: NAME\nNAME: /(?s:.*)/\n");
  for (const char* text : {"aab!", "x\naaab!", "aaab!"}) EXPECT_TRUE(Matches(stopped, text)) << text;
  for (const char* text : {"aab", "aabaab!", "aa!", "aabx!"}) EXPECT_FALSE(Matches(stopped, text)) << text;
  const auto pattern = guided("start: a b\na[stop=/[.;]/, stop_capture=\"end\"]: /[a-z.]+/\nb[lazy]: /[0-9]+/\n");
  for (const char* text : {"ab.1", "a;7", "a.;7"})
    EXPECT_EQ(Matches(pattern, text), std::string(text) != "a.;7") << text;
  EXPECT_FALSE(Matches(pattern, "a.12")) << "lazy: the shortest";
  EXPECT_TRUE(Matches(guided("start: a /.*/\na[suffix=\"</b>\"]: /[^\\/]*/\n"), "x</b>rest"));

  const auto schema = guided(
      "start: \"> \" value \".\"\nvalue[capture]: %json {\n  \"type\": \"object\", \"properties\": {\"}\": {\"enum\": "
      "[\"[\\\"\", 2]}},\n"
      "  \"required\": [\"}\"], \"additionalProperties\": false\n}\n");
  for (const char* text : {R"(> {"}": "[\""}.)", R"(> {"}":2}.)"}) EXPECT_TRUE(Matches(schema, text)) << text;
  for (const char* text : {R"(> {"}": 3}.)", R"({"}":2})", "> {}."}) EXPECT_FALSE(Matches(schema, text)) << text;
}

TEST(LarkTest, GuidancesSchemasFixTheWhiteSpace) {
  const auto grammar = CompileOrFail(Lark(R"(%llguidance {}
start: %json {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": [1, {"x": [1, 2]}]}}, "b": {}},
  "x-guidance": {"whitespace_flexible": false, "whitespace_pattern": null, "item_separator": ", ", "key_separator": ": ",
                 "coerce_one_of": true, "lenient": false}}
)"));
  for (const char* text : {R"({"a": [1, {"x": [1, 2]}], "b": {"c": [], "d": {}}})", R"({"b": [1, 2]})", "{}"}) {
    EXPECT_TRUE(Matches(grammar, text)) << text;
  }
  for (const char* text :
       {R"({"a": [1,1]})", R"({"a":[1]})", R"({ "a": [1]})", R"({"b": [1,2]})", R"({"a": [1], "b": {"c":1}})", "{ }"}) {
    EXPECT_FALSE(Matches(grammar, text)) << text;
  }
  EXPECT_THAT(testing::ErrorOf(Lark("%llguidance {}\nstart: %json {\"x-guidance\": {\"lenient\": true}}")),
              HasSubstr("'lenient'"));
}

TEST(LarkTest, GuidancesTokenLimitIsThatOfTheText) {
  const auto limit = [](const std::string& rules) {
    CompileOrFail(Lark("%llguidance {}\n" + rules));
    return TokenLimitOfLark("%llguidance {}\n" + rules);
  };
  EXPECT_EQ(limit("start: \"max_tokens\"\n"), std::nullopt);
  EXPECT_EQ(limit("start: x\nx[capture, max_tokens=20]: X\nX: /(?s:.*)/\n"), 20u);
  EXPECT_EQ(limit("start[max_tokens=7]: x\nx[max_tokens=20]: /a*/\n"), 7u);
}

TEST(LarkTest, WhatGuidanceCannotHaveIsNamed) {
  const auto error = [](const std::string& rules) { return testing::ErrorOf(Lark("%llguidance {}\n" + rules)); };
  EXPECT_THAT(error("start: \"a\" x\nx[max_tokens=3]: /a*/\n"),
              HasSubstr("'max_tokens' is supported of a rule that is the whole text"));
  EXPECT_THAT(error("start[temperature=0.5]: /a*/\n"), HasSubstr("line 2: the 'temperature' of a rule"));
  EXPECT_THAT(error("start[stop=\"\"]: /a*/\n"), HasSubstr("is empty"));
  EXPECT_THAT(error("start[speed=2]: /a*/\n"), HasSubstr("'speed'"));
  EXPECT_THAT(error("start: <|eot|>\n"), HasSubstr("special tokens"));
  EXPECT_THAT(error("start: %regex {\"substring_chunks\": [\"a\"]}\n"), HasSubstr("%regex"));
  EXPECT_THAT(error("start: %json {\"type\": \"object\"\n"), HasSubstr("a JSON object must follow '%json'"));
  EXPECT_THAT(error("start: %json {\"uniqueItems\": true, \"type\": \"array\"}\n"), HasSubstr("uniqueItems"));
  EXPECT_THAT(error("start[lazy]: \"a\" x\nx: \"b\" x | \"c\"\n"),
              HasSubstr("line 2: 'start' is lazy or has a stop: it calls 'x', which calls itself"));
  EXPECT_THAT(error("start[lazy]: \"a\" x\nx[stop=\"!\"]: /b*/\n"),
              HasSubstr("it calls 'x', which is lazy or has a stop too"));
  EXPECT_THAT(error("start: a\na: b\nb: a\nx[max_tokens=3]: \"z\"\n"), HasSubstr("'max_tokens' is supported"));
  EXPECT_THAT(error("start: %json {\"\\"), HasSubstr("a JSON object must follow '%json'"));
  std::string deep = "start[lazy]: r1500\nr0: \"a\"\n";
  for (int i = 1; i <= 1500; ++i) deep += fmt::format("r{}: r{} \"a\"\n", i, i - 1);
  EXPECT_THAT(error(deep), HasSubstr("nested deeper than 1024"));
  std::string chain = "start[lazy]: r4000\nr0: \"a\"\n";  // calls alone
  for (int i = 1; i <= 4000; ++i) chain += fmt::format("r{}: r{}\n", i, i - 1);
  EXPECT_THAT(error(chain), HasSubstr("nested deeper than 1024"));
  EXPECT_THAT(testing::ErrorOf(Lark("%llguidance {\"no_forcing\": true}\nstart: \"a\"")),
              HasSubstr("its options are not supported"));
}

// A rule that is known already may be higher than the place of its call is deep.
TEST(LarkTest, LazyRulesAreInlinedUpToTheirHeight) {
  const auto error = [](int more) {
    std::string rules =
        "%llguidance {}\nstart[lazy]: r450 s450 t" + std::to_string(more) + "\nr0: \"a\"\ns0: r450\nt0: s450\n";
    for (const auto& [name, count] : {std::pair('r', 450), std::pair('s', 450), std::pair('t', more)}) {
      for (int i = 1; i <= count; ++i) rules += fmt::format("{0}{1}: \"x\" {0}{2}\n", name, i, i - 1);
    }
    const auto compiled = CompileGrammar(Lark(rules));
    return compiled ? std::string("none") : compiled.error().message;
  };
  EXPECT_EQ(error(1), "none");
  EXPECT_THAT(error(200), HasSubstr("nested deeper than 1024"));
}

// Each rule has the one before it twice: 60 rules are 2^60 copies, if they are written out.
TEST(LarkTest, RulesThatDoubleAreRefusedInTime) {
  const auto doubled = [](const std::string& first, int rules) {
    std::string out = fmt::format("%llguidance {{}}\nstart[lazy]: r{} \"z\"\nr0: {}\n", rules, first);
    for (int i = 1; i <= rules; ++i) out += fmt::format("r{}: r{} r{}\n", i, i - 1, i - 1);
    return Lark(out);
  };
  EXPECT_TRUE(Matches(CompileOrFail(doubled("\"a\"", 3)), "aaaaaaaaz"));
  EXPECT_TRUE(Matches(CompileOrFail(doubled("\"\"", 3)), "z"));
  for (const char* first : {"\"a\"", "\"a\"?", "\"\"", "", "(\"\"){1000000}"}) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_THAT(testing::ErrorOf(doubled(first, 60)), HasSubstr("need more than")) << first;
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10)) << first;
  }
}

}  // namespace
}  // namespace inferflux::text
