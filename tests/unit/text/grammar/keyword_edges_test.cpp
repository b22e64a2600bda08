// Schemas at the edges of their keywords: one step more or less, or a part that is missing.
#include <gtest/gtest.h>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

using testing::ErrorOf;
using testing::ExpectMatches;
using testing::Schema;

TEST(KeywordEdges, ALengthOfOne) {
  ExpectMatches(R"({"type":"string","minLength":1})", {R"("a")", R"("\n")", R"("abc")"}, {R"("")"});
  ExpectMatches(R"({"type":"string","minLength":0})", {R"("")", R"("a")"}, {"1"});
  ExpectMatches(R"({"type":"string","minLength":1,"maxLength":1})", {R"("a")"}, {R"("")", R"("ab")"});
  ExpectMatches(R"({"type":"string","maxLength":0})", {R"("")"}, {R"("a")"});
  ExpectMatches(R"({"type":"array","items":{"type":"null"},"minItems":1})", {"[null]", "[null,null]"}, {"[]"});
  ExpectMatches(R"({"type":"array","items":{"type":"null"},"maxItems":1})", {"[null]", "[]"}, {"[null,null]"});
  ExpectMatches(R"({"type":"array","items":{"type":"null"},"minItems":2,"maxItems":2})", {"[null,null]"},
                {"[]", "[null]", "[null,null,null]"});
}

TEST(KeywordEdges, AlternativesOfWhichSomeNameNoMembers) {
  ExpectMatches(R"({"oneOf":[{"type":"object","required":["kind"],"additionalProperties":{"type":"string"}},
                             {"type":"object","required":["kind"],"properties":{"kind":{"const":"b"}}}]})",
                {R"({"kind":"a"})"}, {R"({"kind":"b"})", "{}"});
  ExpectMatches(R"({"anyOf":[{"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["a"]}]},
                             {"type":"null"}]})",
                {"null"}, {R"({"a":1})", "{}"});
  ExpectMatches(R"({"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":1},"x":{"type":"null"}}},
                             {"type":"object","required":["k"],"properties":{"k":{"const":2},"y":{"type":"null"}}}]})",
                {R"({"k":1})", R"({"k":2})", R"({"k":1,"x":null})", R"({"k":2,"y":null})"}, {R"({"k":3})", "{}"});
}

TEST(KeywordEdges, BoundsThatAreHeldTogetherAreTheNarrower) {
  const auto both = [](const std::string& one, const std::string& other) {
    return R"({"type":"number","allOf":[{)" + one + "},{" + other + "}]}";
  };
  for (const bool turned : {false, true}) {
    const auto of = [&](const std::string& one, const std::string& other) {
      return turned ? both(other, one) : both(one, other);
    };
    ExpectMatches(of("\"minimum\":1", "\"minimum\":3"), {"3", "4"}, {"1", "2"});
    ExpectMatches(of("\"maximum\":1", "\"maximum\":3"), {"1", "0"}, {"2", "3"});
    ExpectMatches(of("\"exclusiveMinimum\":1", "\"exclusiveMinimum\":3"), {"4", "3.5"}, {"2", "3"});
    ExpectMatches(of("\"exclusiveMaximum\":1", "\"exclusiveMaximum\":3"), {"0", "0.5"}, {"1", "2"});
    ExpectMatches(of("\"multipleOf\":4,\"minimum\":0", "\"multipleOf\":6"), {"0", "12", "24"}, {"4", "6", "8", "18"});
    EXPECT_EQ(ErrorOf(Schema(of("\"minimum\":1", "\"minimum\":\"x\""))),
              std::string("at #/allOf/1: two schemas that must both hold have different 'minimum', and cannot be "
                          "combined"));
  }
}

TEST(KeywordEdges, AlternativesCombineInAtMost256Pairs) {
  const auto pairs = [](int count) {
    std::string ways;
    for (int i = 0; i < count; ++i)
      ways += (i > 0 ? "," : "") + std::string(R"({"maxLength":)") + std::to_string(i) + "}";
    return R"({"type":"string","allOf":[{"anyOf":[{"minLength":1}]},{"anyOf":[)" + ways + "]}]}";
  };
  EXPECT_EQ(ErrorOf(Schema(pairs(256))), "");
  EXPECT_EQ(ErrorOf(Schema(pairs(257))),
            "at #/allOf/1: two schemas that must both hold have different 'anyOf', and cannot be combined");
}

TEST(KeywordEdges, ANameIsThatOfASchemaAndNotOfAValue) {
  for (const char* values : {"enum", "const", "default", "examples"}) {
    const std::string value = R"({"$anchor":"x","type":"null"})";
    const std::string held =
        std::string(values) == "const" || std::string(values) == "default" ? value : "[" + value + "]";
    ExpectMatches(R"({"$ref":"#x","$defs":{"a":{")" + std::string(values) + "\":" + held +
                      R"(},"b":{"$anchor":"x","type":"integer"}}})",
                  {"1"}, {"null"});
  }
  for (const char* name : {R"("$anchor":"x")", R"("$id":"#x")", R"("id":"#x")"}) {
    ExpectMatches(R"({"$ref":"#x","$defs":{"list":[{"a":{)" + std::string(name) + R"(,"type":"integer"}}]}})", {"1"},
                  {"null"});
  }
  for (const char* name : {R"("$anchor":"#x")", R"("$id":"x")", R"("id":"x")", R"("$anchor":1)"}) {
    EXPECT_NE(ErrorOf(Schema(R"({"$ref":"#x","$defs":{"a":{)" + std::string(name) + "}}}")), "") << name;
  }
}

TEST(KeywordEdges, AReferenceLeadsToAPlace) {
  const std::string places =
      R"(,"$defs":{"list":[{"type":"null"},{"type":"integer"}],"a/b":{"~":{"type":"integer"}}}})";
  for (const char* good : {"#/$defs/list/1", "#/$defs/a~1b/~0", "#/%24defs/list/1"}) {
    ExpectMatches(R"({"$ref":")" + std::string(good) + "\"" + places, {"1", "-5"}, {"null", "1.5"});
  }
  ExpectMatches(R"({"$ref":"#/$defs/list/0")" + places, {"null"}, {"1"});
  for (const char* bad : {"#/$defs/list/2", "#/$defs/list/1x", "#/$defs/list/", "#/$defs/list/x", "#/$defs/list/1/y",
                          "#/$defs/a/b", "#/$def"}) {
    EXPECT_EQ(ErrorOf(Schema(R"({"$ref":")" + std::string(bad) + "\"" + places)),
              "at #/$ref: '" + std::string(bad) + "' leads nowhere");
  }
}

}  // namespace
}  // namespace inferflux::text
