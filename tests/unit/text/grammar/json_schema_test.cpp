#include "text/grammar/json_schema/json_schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

using testing::CompileOrFail;
using testing::ErrorOf;
using testing::ExpectMatches;
using ::testing::HasSubstr;
using testing::Matches;
using testing::Schema;

TEST(JsonSchemaTest, MembersComeInTheSchemasOrderWithCommasBetweenThem) {
  const std::string optional =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"},"c":true}})";
  ExpectMatches(
      optional, {"{}", R"({"a":1})", R"({"b": null})", R"({"a":1,"c":[1]})", "{\n  \"a\": 1,\n  \"b\": null\n}"},
      {R"({"a":1,})", R"({,"a":1})", R"({"b":null,"a":1})", R"({"a":1 "b":null})", R"({"d":1})", R"({"a":1,"a":1})"});
  ExpectMatches(
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"},"c":true},"required":["b"]})",
      {R"({"b":null})", R"({"a":1,"b":null})", R"({"b":null,"c":{}})"},
      {"{}", R"({"a":1})", R"({"a":1,"c":1})", R"({"b":null,"b":null})", R"({"a":1,"b":null,"b":null})"});
}

TEST(JsonSchemaTest, AdditionalMembersNeverTakeTheNameOfAnother) {
  ExpectMatches(
      R"({"properties":{"name":{"type":"string"},"na":{"type":"null"}},"additionalProperties":{"type":"integer"}})",
      {R"({"name":"x","other":1})", R"({"n":1,"nam":2,"names":3,"":4})"},
      {R"({"name":1})", R"({"na":1})", R"({"other":"x"})", R"({"n\u0061":1})"});
  ExpectMatches(R"({"type":"object","required":["k"],"additionalProperties":{"type":"boolean"}})",
                {R"({"k":true})", R"({"k":true,"l":false})"},
                {"{}", R"({"l":true})", R"({"k":true,"k":true})", R"({"k":true,"l":false,"k":true})"});
  ExpectMatches(R"({"type":"object","required":["k"],"patternProperties":{"^k":{"type":"boolean"}}})",
                {R"({"k":true})"}, {R"({"k":true,"k":false})"});
}

TEST(JsonSchemaTest, BoundsOfNumbers) {
  ExpectMatches(R"({"type":"integer","minimum":-12,"exclusiveMaximum":105})",
                {"-12", "-9", "0", "9", "10", "99", "104"}, {"-13", "-100", "105", "1000", "-0", "01", "1.0", "1e2"});
  ExpectMatches(R"({"type":"number","minimum":0,"maximum":1})", {"0", "0.0", "0.25", "1", "1.000", "0.9999999"},
                {"-0.1", "1.0001", "2", "1e0", "-0"});
  ExpectMatches(R"({"type":"number","exclusiveMinimum":-2.5,"exclusiveMaximum":-0.125})",
                {"-2.4999", "-2", "-0.1251", "-1.5"}, {"-2.5", "-2.50", "-0.125", "-0.1", "0", "1"});
  ExpectMatches(R"({"type":"integer","minimum":1.5})", {"2", "9999999999999999"}, {"1", "0", "-2"});
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"integer","minimum":5,"maximum":4})")), HasSubstr("never ends"));
}

TEST(JsonSchemaTest, StringsAreJson) {
  ExpectMatches(R"({"type":"string"})", {R"("a\n\u00e9\ud83d\ude42/\/\"")", R"("日本🙂")", "\"\x7f\""},
                {"\"a\nb\"", R"("\ud83d")", R"("\udc00")", R"("\x41")", "\"\xff\"", "a", "\"", R"("\u12g4")"});
  ExpectMatches(R"({"type":"string","minLength":2,"maxLength":3})", {R"("é\n")", R"("\ud83d\ude42ab")"},
                {R"("é")", R"("abcd")"});
  ExpectMatches(R"({"type":"string","pattern":"^\"[^a]+$"})", {R"("\"\n\\")", R"("\"é")"}, {R"("\"a")", "\"\\\"\n\""});
  ExpectMatches(R"({"type":"string","maxLength":70000})", {R"("x")"}, {"x"});
}

TEST(JsonSchemaTest, ReferencesMayRecur) {
  ExpectMatches(
      R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","required":["v"],"properties":{"v":{"type":"integer"},
      "kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}}})",
      {R"({"v":1,"kids":[{"v":2},{"v":3,"kids":[]}]})"}, {R"({"v":1,"kids":[{"kids":[]}]})"});
  ExpectMatches(R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"});
  ExpectMatches(R"({"$ref":"#/$defs/a~1b%25","description":"d","$defs":{"a/b%":{"const":1}}})", {"1"}, {"2"});
  EXPECT_THAT(ErrorOf(Schema(R"({"$ref":"#/$defs/x"})")), HasSubstr("at #/$ref: '#/$defs/x' leads nowhere"));
  EXPECT_THAT(ErrorOf(Schema(R"({"$ref":"http://example.org/s"})")), HasSubstr("not in this schema"));
  EXPECT_THAT(ErrorOf(Schema(R"({"$ref":"#"})")), HasSubstr("never ends"));
  EXPECT_THAT(ErrorOf(Schema(R"({"properties":{"a":{"$ref":"#"}},"required":["a"]})")), HasSubstr("never ends"));
  EXPECT_THAT(ErrorOf(Schema(R"({"allOf":[{"$ref":"#"},{"type":"object"}]})")), HasSubstr("references"));
}

TEST(JsonSchemaTest, WhatStandsBesideAlternativesHoldsForEach) {
  ExpectMatches(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],
      "anyOf":[{"properties":{"b":{"const":1}},"required":["b"]},{"properties":{"c":{"const":2}},"required":["c"]}]})",
                {R"({"a":0,"b":1})", R"({"a":0,"c":2})"}, {R"({"a":0})", R"({"b":1})", R"({"a":0,"b":2})"});
  ExpectMatches(R"({"allOf":[{"type":["integer","string"],"minimum":3},{"type":"number","maximum":5}]})", {"3", "5"},
                {"2", "6", "4.5", "\"a\""});
  ExpectMatches(R"({"type":"string","nullable":true,"maxLength":1})", {"null", "\"\""}, {"\"ab\""});
}

TEST(JsonSchemaTest, OneOfIsTakenOnlyWhereOneAtMostCanHold) {
  ExpectMatches(R"({"oneOf":[{"type":"integer"},{"type":"string"}]})", {"1", "\"a\""}, {"true"});
  ExpectMatches(R"({"oneOf":[{"type":"object","properties":{"x":true},"required":["x"]},
                             {"type":"object","properties":{"y":true},"required":["y"]}]})",
                {R"({"x":1})", R"({"y":1})"}, {R"({"x":1,"y":1})", "{}"});
  ExpectMatches(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", {"1.5", "-0.25"}, {"1", "2.0", "true"});
  ExpectMatches(R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":true,"b":true}})",
                {R"({"a":1})", R"({"b":1})"}, {"{}", R"({"a":1,"b":1})"});
  std::string names, ways;
  for (int i = 0; i < 40; ++i) {
    names += fmt::format(R"({}"p{}":true)", i == 0 ? "" : ",", i);
    ways += fmt::format(R"({}{{"required":["p{}"]}})", i == 0 ? "" : ",", i);
  }
  ExpectMatches(fmt::format(R"({{"type":"object","properties":{{{}}},"oneOf":[{}]}})", names, ways),
                {R"({"p7":1})", R"({"p39":1})"}, {"{}", R"({"p7":1,"p39":1})"});
  // A type that a keyword only implies excludes nothing.
  ExpectMatches(R"({"oneOf":[{"minLength":2},{"required":["a"]}]})", {R"("a")", "{}"}, {R"("ab")", R"({"a":1})"});
  EXPECT_THAT(ErrorOf(Schema(R"({"properties":{"p":{"oneOf":[{"uniqueItems":true},{"type":"array"}]}}})")),
              HasSubstr("at #/properties/p/oneOf/1: oneOf needs alternatives"));
}

// The negated condition applies to every type of value, although the enum beside it lists few of them.
TEST(JsonSchemaTest, AConditionMaySpeakOfAListedMember) {
  const auto grammar = CompileOrFail(Schema(
      R"({"type":"object","properties":{"kind":{"enum":["a","b"]},"n":{"type":"integer","multipleOf":5,"minimum":1,"maximum":100}},
          "required":["kind","n"],"additionalProperties":false,
          "if":{"properties":{"kind":{"const":"a"}}},"then":{"properties":{"n":{"minimum":50}}}})"));
  ASSERT_TRUE(grammar);
  EXPECT_TRUE(Matches(grammar, R"({"kind":"a","n":50})"));
  EXPECT_TRUE(Matches(grammar, R"({"kind":"b","n":5})"));
  EXPECT_FALSE(Matches(grammar, R"({"kind":"a","n":5})"));
  EXPECT_FALSE(Matches(grammar, R"({"kind":"b","n":7})"));
  EXPECT_FALSE(Matches(grammar, R"({"kind":"c","n":50})"));
}

TEST(JsonSchemaTest, WhatCannotBeHonouredIsAnErrorThatNamesItsPlace) {
  EXPECT_THAT(ErrorOf(Schema(R"({"properties":{"a":{"type":"array","unevaluatedItems":false}}})")),
              HasSubstr("at #/properties/a/unevaluatedItems: the keyword 'unevaluatedItems' is not supported"));
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"number","multipleOf":0.0000001})")), HasSubstr("at #/multipleOf"));
  EXPECT_THAT(ErrorOf(Schema(R"({"not":{"uniqueItems":true}})")), HasSubstr("at #/not/uniqueItems: "));
  EXPECT_THAT(ErrorOf(Schema(R"s({"type":"object","patternProperties":{"(?=a)":true}})s")),
              HasSubstr("at #/patternProperties/(?=a): at byte"));
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"object","propertyNames":{"minimum":1}})")),
              HasSubstr("#/propertyNames/minimum"));
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"array","uniqueItems":true})")), HasSubstr("#/uniqueItems"));
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"string","format":"regex"})")),
              HasSubstr("the format 'regex' is not supported"));
  EXPECT_THAT(ErrorOf(Schema(R"s({"type":"string","pattern":"(?=a)"})s")), HasSubstr("at #/pattern: at byte"));
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"strin"})")), HasSubstr("'\"strin\"' is not a type"));
  EXPECT_THAT(ErrorOf(Schema(R"({"items":[1]})")), HasSubstr("#/items"));
  EXPECT_THAT(ErrorOf(Schema("[1]")), HasSubstr("a schema must be an object"));
  EXPECT_THAT(ErrorOf(Schema("{")), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf(Schema(R"({"minItems":-1})")), HasSubstr("#/minItems"));
  EXPECT_THAT(ErrorOf(Schema("false")), HasSubstr("never ends"));
  EXPECT_EQ(ErrorOf(Schema(R"({"title":"t","x-vendor":1,"$schema":"s","examples":[1]})")), "");
}

TEST(JsonSchemaTest, AnyObject) {
  const auto grammar = CompileOrFail({.kind = GrammarSpec::Kind::kJsonObject});
  EXPECT_TRUE(Matches(grammar, R"({"a": [1, -2.5e+10, "x", {"b": null}], "c": true})"));
  EXPECT_FALSE(Matches(grammar, "[1]"));
  EXPECT_FALSE(Matches(grammar, R"({"a": 1,})"));
}

// The values were compared each with all others, on a copy of the schema for each: 20,000 took 20 s.
TEST(JsonSchemaTest, ManyListedValuesTakeTimeInProportionToTheirNumber) {
  const auto seconds = [](int count) {
    std::string values;
    for (int i = 0; i < count; ++i) values += fmt::format("{}\"value {}\"", i == 0 ? "" : ",", i);
    const std::string schema = fmt::format(R"({{"type":"string","minLength":1,"enum":[{}]}})", values);
    const std::clock_t began = std::clock();
    EXPECT_EQ(ErrorOf(Schema(schema)), "");
    return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  };
  const double few = seconds(1'000), many = seconds(8'000);
  EXPECT_LT(many, 32 * std::max(few, 0.005)) << "8 times as many; 64 times is what a comparison of all with all takes";
}

}  // namespace
}  // namespace inferflux::text
