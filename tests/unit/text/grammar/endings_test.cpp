// Grammars and schemas that end early, and parts of schemas that close themselves.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

using testing::ErrorOf;
using testing::ExpectMatches;
using testing::Gbnf;
using testing::Regex;
using testing::Schema;

GrammarSpec LarkOf(std::string source) { return {.kind = GrammarSpec::Kind::kLark, .source = std::move(source)}; }

TEST(GrammarEndings, ALarkGrammarThatEndsEarlySaysWhatIsMissing) {
  for (const auto& [source, message] :
       {std::pair{"start: /a\\", "line 1: the line ends inside a regular expression"},
        {"start: /a", "line 1: the line ends inside a regular expression"},
        {"%llguidance {}\nstart: %json {\"a\\", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json {\"a\": [1}]",
         "line 2: the schema of '%json': the schema is not valid JSON: syntax error"},
        {"%llguidance {}\nstart: %json {\"a", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json ]", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json [1]", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json true", "line 2: a JSON object must follow '%json'"}}) {
    EXPECT_EQ(ErrorOf(LarkOf(source)), message) << source;
  }
  EXPECT_EQ(ErrorOf(LarkOf("%llguidance {}\nstart: %json {\"const\": \"]}\\\"{\"} \"x\"")), "");
}

// What the part names is evaluated by the part alone.
TEST(GrammarEndings, APartOfASchemaClosesItself) {
  ExpectMatches(R"({"allOf":[{"properties":{"a":{"const":1}},"unevaluatedProperties":false}],"type":"object"})",
                {"{}", R"({"a":1})"}, {R"({"b":1})", R"({"a":2})"});
  ExpectMatches(R"({"allOf":[{"properties":{"a":{"const":1}},"unevaluatedProperties":false,
                               "additionalProperties":{"const":2}}],"type":"object"})",
                {"{}", R"({"a":1,"b":2})"}, {R"({"b":1})"});
  const std::string part = R"("properties":{"a":true},"unevaluatedProperties":false)";
  const auto in_part = [](const std::string& keywords) {
    return ErrorOf(Schema(R"({"allOf":[{)" + keywords + R"(}],"type":"object"})"));
  };
  EXPECT_EQ(in_part(part + R"(,"anyOf":[{"required":["a"]}])"),
            "at #/allOf/0/unevaluatedProperties: is not supported beside 'anyOf' and 'oneOf' in a part of a schema");
  EXPECT_EQ(in_part(part + R"(,"oneOf":[{"required":["a"]}])"),
            "at #/allOf/0/unevaluatedProperties: is not supported beside 'oneOf'");
  EXPECT_EQ(in_part(part + R"(,"not":{"required":["a"]})"),
            "at #/allOf/0/unevaluatedProperties: is not supported beside 'not'");
}

TEST(GrammarEndings, LooksAheadHaveAlternativesOfTheirOwn) {
  const auto pattern = [](const std::string& text) { return R"({"type":"string","pattern":")" + text + "\"}"; };
  ExpectMatches(pattern("^(?=a|b).{2}$"), {R"("ax")", R"("bx")"}, {R"("cx")", R"("a")"});
  ExpectMatches(pattern("^(?=(a|b)c)[a-z]+$"), {R"("acx")", R"("bc")"}, {R"("ab")", R"("cc")", R"("a")"});
  ExpectMatches(pattern("^(?=(a|b)c|d)[a-z]+$"), {R"("d")", R"("acz")"}, {R"("ad")", R"("cd")"});
  ExpectMatches(pattern("^(?![|)]|x|^y)..$"), {R"("ab")", R"("bx")"}, {R"("|a")", R"(")a")", R"("xa")", R"("ya")"});
  ExpectMatches(pattern("^(?!\\\\||\\\\)).{2}$"), {R"("ab")"}, {R"("|a")", R"(")a")"});
  ExpectMatches(pattern("^(?=a)(x|a)b$"), {R"("ab")"}, {R"("xb")"});
  ExpectMatches(pattern("^(?=.*a)(?!.*b).{2}$"), {R"("xa")", R"("ay")"}, {R"("xy")", R"("ab")"});
  EXPECT_NE(ErrorOf(Schema(pattern("^(?=a)x|y"))).find("look-around"), std::string::npos);
  EXPECT_NE(ErrorOf(Schema(pattern("^(?=a"))), "");
}

TEST(GrammarEndings, WhatIsAdditionalToOnePartIsHeldToItsPatterns) {
  ExpectMatches(
      R"({"type":"object","allOf":[{"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"enum":[1,null]}},
                    {"properties":{"xa":{"enum":[5,"s"]},"b":{"enum":[1,2]},"c":{"enum":[null,3]}}}]})",
      {"{}", R"({"xa":5})", R"({"xa":5,"b":1,"c":null})"}, {R"({"b":2})", R"({"c":3})", R"({"xa":"s"})"});
}

TEST(GrammarEndings, BoundsMayHaveTheSameWholePart) {
  ExpectMatches(R"({"type":"number","minimum":1.2,"maximum":1.5})", {"1.2", "1.25", "1.3", "1.5", "1.50"},
                {"1", "1.1", "1.19", "1.51", "1.6", "2"});
  ExpectMatches(R"({"type":"number","exclusiveMinimum":-1.5,"exclusiveMaximum":-1.2})", {"-1.3", "-1.49", "-1.21"},
                {"-1.5", "-1.2", "-1.6", "-1.1", "-1", "1.3"});
}

TEST(GrammarEndings, OfNamesOnlyWhatIsSaidOfTextsCanBeSaid) {
  const std::string only =
      ": of a text only its type, its length, patterns, formats and lists of texts can be said here";
  for (const char* keyword : {"required", "oneOf", "items"}) {
    EXPECT_EQ(
        ErrorOf(Schema(R"({"type":"object","propertyNames":{")" + std::string(keyword) + R"(":[{"type":"string"}]}})")),
        "at #/propertyNames/" + std::string(keyword) + only);
  }
  ExpectMatches(R"({"type":"object","propertyNames":{"anyOf":[{"const":"a"},{"minLength":3,"maxLength":3}]}})",
                {R"({"a":1})", R"({"abc":1})"}, {R"({"ab":1})", R"({"b":1})"});
}

// Alternatives are told apart by members of their members, but not without an end.
TEST(GrammarEndings, AlternativesThatContainThemselvesEnd) {
  const auto tree = [](const std::string& name) {
    return "\"" + name + R"(":{"type":"object","required":["k"],"properties":{"k":{"$ref":"#/$defs/)" + name + "\"}}}";
  };
  const std::string error = ErrorOf(
      Schema(R"({"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{)" + tree("a") + "," + tree("b") + "}}"));
  EXPECT_NE(error, "") << "each is within the other";
  ExpectMatches(R"({"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"type":"object","required":["t"],
                              "properties":{"t":{"const":1}}}},"additionalProperties":{"const":3}},
                             {"type":"object","required":["k"],"properties":{"k":{"type":"object","required":["t"],
                              "properties":{"t":{"const":2}}}},"additionalProperties":{"const":4}}]})",
                {R"({"k":{"t":1},"x":3})", R"({"k":{"t":2},"x":4})"}, {R"({"k":{"t":1},"x":4})", R"({"k":{"t":3}})"});
}

TEST(GrammarEndings, WhatIsExcludedFromMembersAddsUpToSix) {
  const char* const types[] = {R"("null")",   R"("boolean")", R"("string")",         R"("array")",
                               R"("object")", R"("number")",  R"(["null","string"])"};
  const auto excluded = [&](size_t count) {
    std::string schema = R"({"type":"object","properties":{)";
    for (size_t i = 0; i < 7; ++i) schema += std::string(i > 0 ? "," : "") + "\"p" + std::to_string(i) + "\":true";
    schema += R"(},"allOf":[)";
    for (size_t i = 0; i < count; ++i) {
      schema += std::string(i > 0 ? "," : "") + R"({"not":{"additionalProperties":{"type":)" + types[i] + "}}}";
    }
    return ErrorOf(Schema(schema + "]}"));
  };
  EXPECT_EQ(excluded(6), "");
  EXPECT_EQ(excluded(7), "at #: what 'not', 'if' or 'oneOf' excludes from the members of this object is too much");
}

TEST(GrammarEndings, ListedValuesAreHeldToTheirSchemaInSoManySteps) {
  const auto list = [](int size) {
    std::string out = "[";
    for (int i = 0; i < size; ++i) out += (i > 0 ? "," : "") + std::to_string(i);
    return out + "]";
  };
  const auto error = [&](const std::string& more) {
    return ErrorOf(Schema(R"({"enum":[)" + list(632) + "," + list(35) + more + R"(],"uniqueItems":true})"));
  };
  const std::string much = "at #: too much to hold listed values to";
  const std::string four = "," + list(4);
  EXPECT_EQ(error(four), "");
  EXPECT_EQ(error(four + ",[]"), much);
  std::string seven;
  for (int i = 0; i < 7; ++i) seven += ",[" + std::to_string(i) + "]";
  EXPECT_EQ(error(seven), "");
  EXPECT_EQ(error(seven + ",[]"), much);
}

}  // namespace
}  // namespace inferflux::text
