#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

using testing::CompileOrFail;
using testing::ErrorOf;
using testing::Gbnf;
using ::testing::HasSubstr;
using testing::Matches;

TEST(GbnfTest, LiteralsClassesAndRepetitions) {
  const auto grammar = CompileOrFail(Gbnf(R"gbnf(
# an arithmetic of small numbers
root ::= expr ("=" " "? number)? "\n"
expr ::= term ([-+*/] term)*   # operators
term ::= number | "(" expr ")"
number ::= "-"? ("0" | [1-9] [0-9]{0,3})
)gbnf"));
  for (const char* text : {"1\n", "1+2*3\n", "(1-(2))=3\n", "-42=  0\n", "9999= -1\n"}) {
    EXPECT_EQ(Matches(grammar, text), std::string_view(text) != "-42=  0\n") << text;
  }
  for (const char* text : {"", "1", "01\n", "1+\n", "(1\n", "12345\n", "1==2\n"})
    EXPECT_FALSE(Matches(grammar, text)) << text;
}

TEST(GbnfTest, EscapesAndCharacters) {
  const auto grammar =
      CompileOrFail(Gbnf("root ::= \"\\x41\\u00e9\\U0001F642\\\"\\\\\" [^a-zäöü\\]] . [\\u3040-\\u309F]+"));
  EXPECT_TRUE(Matches(grammar, "Aé🙂\"\\1\nあい"));
  EXPECT_TRUE(Matches(grammar, "Aé🙂\"\\日🙂ん"));
  EXPECT_FALSE(Matches(grammar, "Aé🙂\"\\ä\nあ"));
  EXPECT_FALSE(Matches(grammar, "Aé🙂\"\\1\nア"));
  EXPECT_FALSE(Matches(grammar, "Aé🙂\"\\1\n\xE3\x81"));  // half a character
}

TEST(GbnfTest, RulesMayBeEmptyAndCallEachOther) {
  const auto grammar =
      CompileOrFail(Gbnf("root ::= a b? a\na ::= \"x\"* \nb ::= \"(\" root \")\" | root2\nroot2 ::= \"y\" b | \"z\""));
  for (const char* text : {"", "xxx", "x(x)x", "(((z)))", "xyyyzx", "(y(x))"})
    EXPECT_TRUE(Matches(grammar, text)) << text;
  for (const char* text : {"(", "yx", ")x(", "xyy"}) EXPECT_FALSE(Matches(grammar, text)) << text;
}

TEST(GbnfTest, CountsLongRepetitions) {
  const auto grammar = CompileOrFail(Gbnf("root ::= (\"a\" [0-9])+ (\"b\" | \"cc\"){200,300} \"d\"{1000,}"));
  const auto text = [](size_t b, size_t d) { return "a1a2" + std::string(b, 'b') + std::string(d, 'd'); };
  EXPECT_TRUE(Matches(grammar, text(200, 1000)));
  EXPECT_TRUE(Matches(grammar, text(300, 5000)));
  EXPECT_TRUE(Matches(grammar, "a7" + std::string(500, 'c') + std::string(1000, 'd')));
  EXPECT_FALSE(Matches(grammar, text(199, 1000)));
  EXPECT_FALSE(Matches(grammar, text(301, 1000)));
  EXPECT_FALSE(Matches(grammar, text(200, 999)));
}

TEST(GbnfTest, CountsInAnyWayThatFits) {
  const auto grammar = CompileOrFail(testing::Regex("([a-z]+ ?){2,400}\\."));
  EXPECT_TRUE(Matches(grammar, std::string(3000, 'a') + "."));
  EXPECT_FALSE(Matches(grammar, "a."));
  std::string words;
  for (int i = 0; i < 400; ++i) words += "ab ";
  EXPECT_TRUE(Matches(grammar, words + "."));
  EXPECT_FALSE(Matches(grammar, words + "ab ."));
}

TEST(GbnfTest, NestsAsDeepAsTheText) {
  const auto grammar = CompileOrFail(Gbnf("root ::= \"[\" root* \"]\" | \"a\" root?"));
  const size_t depth = 5000;
  EXPECT_TRUE(Matches(grammar, std::string(depth, '[') + std::string(depth, ']')));
  EXPECT_FALSE(Matches(grammar, std::string(depth, '[') + std::string(depth - 1, ']')));
  EXPECT_TRUE(Matches(grammar, std::string(depth, 'a')));
}

TEST(GbnfTest, ErrorsNameTheRuleAndTheLine) {
  EXPECT_THAT(ErrorOf(Gbnf("root ::= thing\n")), HasSubstr("line 1: the rule 'thing' is used, but not defined"));
  EXPECT_THAT(ErrorOf(Gbnf("a ::= \"x\"")), HasSubstr("no rule 'root'"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= \"x\"\nroot ::= \"y\"")), HasSubstr("line 2: the rule 'root' is defined twice"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= sum\nsum ::= sum \"+\" [0-9] | [0-9]")), HasSubstr("'sum' is left-recursive"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= a\na ::= \" \"* b\nb ::= a \"x\" | \"y\"")), HasSubstr("left-recursive"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= \"a\" root")), HasSubstr("'root' never ends"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= (\"a\" \"b\"")), HasSubstr("')' is missing"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= [z-a]")), HasSubstr("ends before it begins"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= \"a\"{3,2}")), HasSubstr("at least 3 and at most 2"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= \"a\"{5000000}")), HasSubstr("more than 1000000 times"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= \"\\q\"")), HasSubstr("\\q is not supported"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= \"a\n\"")), HasSubstr("line 1: the line ends"));
  EXPECT_THAT(ErrorOf(Gbnf("root ::= " + std::string(200, '(') + "\"a\"" + std::string(200, ')'))),
              HasSubstr("nested deeper"));
}

TEST(GbnfTest, TooLargeAGrammarIsAnError) {
  EXPECT_THAT(ErrorOf(testing::Regex("[ab]*a[ab]{18}")), HasSubstr("automaton states"));
  EXPECT_THAT(ErrorOf(Gbnf(std::string(300'000, '#'))), HasSubstr("at most 262144"));
}

TEST(GbnfTest, TooAmbiguousATextEnds) {
  // Each letter may belong to either rule, and each rule requires its own end.
  const auto grammar =
      CompileOrFail(Gbnf("root ::= a | b\na ::= \"x\" root \"1\" | \"x\"\nb ::= \"x\" root \"2\" | \"x\""));
  Pushdown run(grammar);
  ConfigId at = run.Start();
  for (int i = 0; i < 64; ++i) at = run.Next(at, 'x');
  EXPECT_EQ(at, Pushdown::kTooMany);
}

}  // namespace
}  // namespace inferflux::text
