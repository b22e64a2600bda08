// Where any plain characters may follow: by hand, for the forms that strings of schemas have.
#include "text/grammar/tokens/plain_run.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

PlainRun After(const GrammarSpec& spec, std::string_view text) {
  const auto grammar = testing::CompileOrFail(spec);
  Pushdown run(grammar);
  ConfigId at = run.Start();
  for (const char c : text) at = run.Next(at, static_cast<uint8_t>(c));
  const auto arrived = run.Arrived(at);
  EXPECT_EQ(arrived.size(), 1u) << text;
  std::vector<Pushdown::Frame> frames;
  for (StackId stack = arrived[0]; stack != Pushdown::kBottom; stack = run.frame(stack).below) {
    frames.push_back(run.frame(stack));
  }
  return PlainRuns(*grammar).Of(frames, 16);
}

// Two strings: the rule of one character is called twice, so it stays a rule.
GrammarSpec TwoStrings(const std::string& keywords) {
  return testing::Schema(R"({"prefixItems":[{"type":"string",)" + keywords + R"(},{"type":"string",)" + keywords +
                         R"(}],"type":"array","minItems":2,"items":false})");
}

TEST(PlainRunTest, AnyCharactersMayFollowInAString) {
  EXPECT_EQ(After(testing::Schema(R"({"type":"string"})"), "\"").least, kUnbounded);
  const auto filled = TwoStrings(R"("minLength":1)");
  EXPECT_EQ(After(filled, "[\"").least, kUnbounded) << "any character is a call";
  EXPECT_EQ(After(filled, "[\"a").least, kUnbounded);
  EXPECT_EQ(After(filled, "[").least, 0u);
}

TEST(PlainRunTest, AsManyAsALengthAllows) {
  for (const char* keywords : {R"("minLength":2,"maxLength":7)", R"("maxLength":7)"}) {
    EXPECT_EQ(After(TwoStrings(keywords), "[\"").least, 7u) << keywords;
    EXPECT_EQ(After(TwoStrings(keywords), "[\"aaaaaa").least, 1u) << keywords;
  }
  // By a counter.
  const auto counted = TwoStrings(R"("minLength":2,"maxLength":99)");
  for (const auto& [text, left] : {std::pair("[\"", 99u), {"[\"a", 98u}}) {
    EXPECT_EQ(After(counted, text).least, left) << text;
    EXPECT_EQ(After(counted, text).most, left) << text;
  }
  EXPECT_EQ(After(TwoStrings(R"("maxLength":99)"), "[\"").least, 99u);
}

TEST(PlainRunTest, NoMoreThanTheRuleHoldsAndAsFarAsIsLooked) {
  const auto of = [](const std::string& letter, size_t count, std::string_view text) {
    std::string rule = "root ::= \"<\"";
    for (size_t i = 0; i < count; ++i) rule += " " + letter;
    const PlainRun run = After(testing::Gbnf(rule + " \"\\\"\""), text);
    const auto shown = [](uint32_t number) {
      return number == kUnbounded ? std::string("any") : std::to_string(number);
    };
    return shown(run.least) + " to " + shown(run.most);
  };
  const std::string any = "[^\\\"\\\\\\x00-\\x1f]";
  EXPECT_EQ(of(any, 3, "<"), "3 to 3");
  EXPECT_EQ(of(any, 3, "<x"), "2 to 2");
  EXPECT_EQ(of(any, 3, "<xyz"), "0 to 0");
  EXPECT_EQ(of("[a-c]", 3, "<"), "0 to 3") << "some fit";
  EXPECT_EQ(of("[a-c]", 3, "<aa"), "0 to 1");
  EXPECT_EQ(of(any + "*", 1, "<"), "any to any");
  EXPECT_EQ(of("[a-c]*", 1, "<"), "0 to any");
  EXPECT_EQ(of(any + "?", 2, "<"), "2 to 2");
  EXPECT_EQ(of(any, 15, "<"), "15 to 15");
  EXPECT_EQ(of(any, 16, "<"), "16 to any") << "the end is not looked at";
  EXPECT_EQ(of(any, 17, "<"), "any to any");
}

TEST(PlainRunTest, NotWhereACharacterDoesNotFit) {
  EXPECT_EQ(After(testing::Schema(R"({"type":"string","pattern":"^[a-z]+$"})"), "\"").least, 0u);
  const auto calls = testing::Gbnf("root ::= \"<\" c [a-z] c \">\"\nc ::= [^\\\"\\\\\\x00-\\x1f]");
  EXPECT_EQ(After(calls, "<").least, 1u);
  EXPECT_EQ(After(calls, "<a").least, 0u);
  const auto more = testing::Gbnf("root ::= \"<\" c c \">\"\nc ::= [^\\\"\\\\\\x00-\\x1f] (\"!\" | \"?12345678\")?");
  EXPECT_EQ(After(more, "<").least, 0u) << "the rule may go on, so it is not one character";
}

}  // namespace
}  // namespace inferflux::text
