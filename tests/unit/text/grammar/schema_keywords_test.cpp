// Keywords one by one: documents that a grammar takes, and documents that it must not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

using testing::ErrorOf;
using testing::ExpectMatches;
using ::testing::HasSubstr;
using testing::Schema;

TEST(SchemaKeywordsTest, UniqueItemsOfListedValues) {
  ExpectMatches(R"({"type":"array","items":{"enum":["a","b",1]},"uniqueItems":true})",
                {"[]", R"(["b"])", R"(["b","a"])", R"([1, "a", "b"])", "[\n  \"a\",\n  \"b\"\n]"},
                {R"(["a","a"])", R"(["a","b","a"])", R"(["c"])", R"([1,1])"});
  ExpectMatches(R"({"type":"array","items":{"type":["boolean","null"]},"uniqueItems":true,"minItems":2,"maxItems":2})",
                {"[true,false]", "[null,true]"}, {"[true]", "[true,true]", "[true,false,null]", "[]"});
  ExpectMatches(R"({"type":"array","items":{"$ref":"#/$defs/c"},"uniqueItems":true,"$defs":{"c":{"enum":["x","y"]}}})",
                {R"(["y","x"])"}, {R"(["x","x"])"});
  // Many values come in the order of the list.
  ExpectMatches(R"({"type":"array","items":{"enum":[0,1,2,3,4,5,6,7,8,9,10,11]},"uniqueItems":true,"maxItems":3})",
                {"[0,5,11]", "[]", "[11]"}, {"[5,5]", "[0,1,2,3]", "[11,11]"});
  ExpectMatches(R"({"type":"array","items":{"type":"string"},"uniqueItems":true,"maxItems":1})", {R"(["a"])", "[]"},
                {R"(["a","b"])"});
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"array","items":{"type":"string"},"uniqueItems":true})")),
              HasSubstr("at #/uniqueItems: is supported for items that"));
}

TEST(SchemaKeywordsTest, ContainsAndItsCounts) {
  ExpectMatches(R"({"type":"array","contains":{"type":"integer"},"items":{"type":["integer","string"]}})",
                {"[1]", R"(["a",1])", R"(["a",1,"b",2])"}, {"[]", R"(["a"])", "[true,1]"});
  ExpectMatches(
      R"({"type":"array","items":{"type":"integer"},"contains":{"minimum":10,"type":"integer"},"minContains":2,"maxContains":3})",
      {"[10,11]", "[1,10,2,11,3,12]"}, {"[10]", "[1,2]", "[10,11,12,13]", "[]"});
  ExpectMatches(R"({"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"},"contains":{"const":7},
                    "minItems":3,"maxItems":4})",
                {R"(["a",7,1])", R"(["a",1,2,7])"}, {R"(["a",7])", R"(["a",1,2])", R"(["a",7,7,7,7])", "[7,1,2]"});
  ExpectMatches(R"({"type":"array","items":{"type":"integer"},"contains":{"const":1},"minContains":0})", {"[]", "[2]"},
                {R"(["a"])"});
}

TEST(SchemaKeywordsTest, ListedValuesMustHoldUnderTheOtherKeywords) {
  ExpectMatches(R"({"enum":[{"a":1},{"b":1},3],"required":["a"]})", {R"({"a":1})", "3"}, {R"({"b":1})"});
  for (const char* wrong : {R"({"enum":[{"a":1}],"required":"a"})", R"({"enum":[{"a":1}],"properties":[]})",
                            R"({"enum":[{"a":1}],"properties":["a"]})"}) {
    EXPECT_FALSE(ErrorOf(Schema(wrong)).empty()) << wrong;
  }
}

TEST(SchemaKeywordsTest, MultiplesOfDecimals) {
  ExpectMatches(R"({"type":"number","multipleOf":0.01})", {"1", "-0.25", "19.99", "5.50", "3.000"},
                {"0.001", "1.005", "1e-3"});
  ExpectMatches(R"({"type":"number","multipleOf":2.5,"minimum":0,"maximum":10})", {"0", "2.5", "7.50", "10", "5.0"},
                {"1", "2.4", "12.5", "-2.5"});
  ExpectMatches(R"({"type":"integer","multipleOf":1.5})", {"3", "-6", "0"}, {"1", "1.5", "4"});
  ExpectMatches(R"({"type":"integer","multipleOf":1000})", {"0", "-3000", "10000"}, {"1", "1500", "999"});
  ExpectMatches(R"({"type":"integer","not":{"multipleOf":3}})", {"1", "-4", "10"}, {"0", "3", "-9"});
  ExpectMatches(R"({"type":"number","not":{"anyOf":[{"type":"integer"},{"multipleOf":0.5}]}})", {"0.25", "-1.75"},
                {"0.5", "1", "2.0", "1.50"});
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"number","multipleOf":1001})")), HasSubstr("at #/multipleOf"));
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"number","multipleOf":0})")), HasSubstr("at #/multipleOf"));
}

TEST(SchemaKeywordsTest, BoundsBeyondAllDigitsKeepNumbersWithin) {
  ExpectMatches(R"({"type":"integer","minimum":0,"maximum":18446744073709551615})", {"0", "9007199254740993"},
                {"-1", "18446744073709551616", "1e30"});
  ExpectMatches(R"({"type":"number","exclusiveMaximum":2e16})", {"-5", "9999999999999999"}, {"2e16", "1e17"});
}

TEST(SchemaKeywordsTest, NumbersOfMembers) {
  ExpectMatches(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}},
                    "minProperties":2,"additionalProperties":false})",
                {R"({"a":1,"b":2})", R"({"a":1,"c":2})", R"({"b": 1, "c": 2})", R"({"a":1,"b":2,"c":3})"},
                {"{}", R"({"a":1})", R"({"c":1})", R"({"a":1,"b":2,"d":3})"});
  ExpectMatches(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["b"],
                    "maxProperties":2,"additionalProperties":{"type":"string"}})",
                {R"({"b":2})", R"({"a":1,"b":2})", R"({"b":2,"x":"y"})"},
                {"{}", R"({"a":1})", R"({"a":1,"b":2,"x":"y"})", R"({"b":2,"x":"y","z":"y"})"});
  // The names of two members that no property names could be the same.
  ExpectMatches(
      R"({"type":"object","properties":{"a":true},"additionalProperties":{"type":"integer"},"minProperties":2})",
      {R"({"a":1,"x":2})"}, {R"({"x":1,"x":2})", R"({"a":1})"});
  EXPECT_THAT(ErrorOf(Schema(R"({"type":"object","minProperties":2})")), HasSubstr("at #/minProperties"));
}

TEST(SchemaKeywordsTest, WhatNotAndOneOfExcludeFromObjects) {
  ExpectMatches(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
                    "not":{"properties":{"a":true},"additionalProperties":false}})",
                {R"({"b":1})", R"({"a":1,"b":2})"}, {R"({"a":1})", "{}"});
  ExpectMatches(
      R"({"type":"object","additionalProperties":{"type":"integer"},"not":{"propertyNames":{"maxLength":2}}})",
      {R"({"abc":1})", R"({"a":1,"abc":2})", R"({"abc":2,"a":1})"}, {"{}", R"({"ab":1})"});
  ExpectMatches(R"({"type":"object","additionalProperties":{"type":["integer","null"]},
                    "not":{"patternProperties":{"^x":{"type":"integer"}}}})",
                {R"({"x":null})", R"({"a":1,"xy":null})"},
                {"{}", R"({"x":1})", R"({"a":null})", R"({"x":null,"x":1})"});
  ExpectMatches(R"({"oneOf":[
      {"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]},
      {"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}]})",
                {R"({"a":1,"b":"x"})"}, {R"({"a":1})", R"({"b":"x"})"});
}

TEST(SchemaKeywordsTest, WhatNotAndOneOfExcludeFromArrays) {
  ExpectMatches(R"({"type":"array","items":{"type":["integer","string"]},"not":{"items":{"type":"integer"}}})",
                {R"(["a"])", R"([1,"a",2])"}, {"[]", "[1]", "[1,2]"});
  ExpectMatches(R"({"type":"array","items":{"type":["integer","string"]},"not":{"contains":{"type":"string"}}})",
                {"[]", "[1,2]"}, {R"([1,"a"])"});
  ExpectMatches(R"({"type":"array","items":{"type":"integer"},"not":{"prefixItems":[{"const":1},{"const":2}]}})",
                {"[3]", "[1,3]", "[2,2]"}, {"[1,2]", "[1]", "[]"});
  ExpectMatches(R"({"oneOf":[{"type":"array","items":{"type":"integer"}},{"type":"array","items":{"type":"number"}}]})",
                {"[1.5]", "[1,2.25]"}, {"[]", "[1]", R"(["a"])"});
}

TEST(SchemaKeywordsTest, ConditionsAndFormatsUnderNot) {
  ExpectMatches(R"({"type":"string","not":{"format":"date"},"maxLength":10})", {R"("x")", R"("2024-1-1")"},
                {R"("2024-02-29")", R"("2023-02-30")"});
  ExpectMatches(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
                    "not":{"if":{"required":["a"]},"then":{"required":["b"]}}})",
                {R"({"a":1})"}, {"{}", R"({"b":1})", R"({"a":1,"b":2})"});
  ExpectMatches(R"({"type":["integer","null"],"not":{"nullable":true,"type":"string"}})", {"1"}, {"null", R"("a")"});
}

TEST(SchemaKeywordsTest, PartsThatHoldTogether) {
  ExpectMatches(R"({"type":"string","allOf":[{"pattern":"a"},{"pattern":"b"},{"pattern":"^.{2,3}$"}]})",
                {R"("ab")", R"("bca")"}, {R"("a")", R"("bb")", R"("abcd")"});
  ExpectMatches(R"({"anyOf":[{"allOf":[{"type":"string","format":"date"},{"format":"date-time"}]},{"type":"null"}]})",
                {"null"}, {R"("2024-02-29")", R"("2024-02-29T00:00:00Z")"});
  ExpectMatches(R"({"anyOf":[{"allOf":[{"const":1},{"const":2}]},{"const":3}]})", {"3"}, {"1", "2"});
  ExpectMatches(R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}},
                            {"properties":{"a":true},"additionalProperties":{"minimum":5}}]})",
                {R"({"a":1,"b":5})", "{}"}, {R"({"b":4})", R"({"a":"x"})"});
  ExpectMatches(R"({"allOf":[{"type":"array","items":{"type":"integer"}},{"prefixItems":[{"minimum":5}]}]})",
                {"[5,1]", "[]"}, {"[4]", R"([5,"a"])"});
  ExpectMatches(
      R"({"allOf":[{"type":"array","contains":{"const":1}},{"contains":{"const":2}}],"items":{"type":"integer"}})",
      {"[1,2]", "[3,2,3,1]"}, {"[1]", "[2,2]", "[]"});
}

// The contents of repetitions were written out from the minimum, whatever the maximum said.
TEST(SchemaKeywordsTest, AMinimumAboveTheMaximumLeavesNothing) {
  ExpectMatches(R"({"anyOf":[{"type":"string","minLength":4,"maxLength":3},{"type":"null"}]})", {"null"},
                {R"("abcd")", R"("abc")"});
  ExpectMatches(R"({"anyOf":[{"type":"array","minItems":2,"maxItems":1},{"type":"null"}]})", {"null"},
                {"[1]", "[1,2]"});
  ExpectMatches(R"({"anyOf":[{"type":"object","minProperties":1,"maxProperties":0},{"type":"null"}]})", {"null"},
                {"{}", R"({"a":1})"});
}

TEST(SchemaKeywordsTest, LookAheadAtTheBeginningOfAPattern) {
  ExpectMatches(R"s({"type":"string","pattern":"^(?!foo|bar$)[a-z]+$"})s", {R"("fo")", R"("barn")", R"("x")"},
                {R"("foo")", R"("food")", R"("bar")", R"("")", R"("1")"});
  ExpectMatches(R"s({"type":"string","pattern":"^(?=.*[0-9])(?=.*[a-z]).{3,8}$"})s", {R"("ab1")", R"("1--a")"},
                {R"("abc")", R"("123")", R"("a1")", R"("abcdefgh1")"});
  ExpectMatches(
      R"s({"type":"object","patternProperties":{"^(?!x-)[a-z-]+$":{"type":"integer"}},"additionalProperties":false})s",
      {R"({"a":1})", R"({"y-x":1})"}, {R"({"x-a":1})", R"({"A":1})"});
  EXPECT_THAT(ErrorOf(Schema(R"s({"type":"string","pattern":"a(?!b)"})s")), HasSubstr("look-around"));
}

TEST(SchemaKeywordsTest, FormatsBesideLengths) {
  ExpectMatches(R"({"type":"string","format":"email","minLength":5,"maxLength":20})",
                {R"("a@b.de")", R"("first.last@mail.org")"},
                {R"("@b.de")", R"("a.very.long.name@mail.example.org")", R"("a@b")"});
  ExpectMatches(
      R"({"type":"string","format":"ipv6"})",
      {R"("::1")", R"("2001:db8::ff00:42:8329")", R"("::")", R"("1:2:3:4:5:6:7:8")", R"("1:2:3:4:5:6:10.0.0.1")"},
      {R"("1::2::3")", R"(":1")", R"("1:2:3:4:5:6:7")", R"("12345::")", R"("1:2:3:4:5:6:7:8:9")"});
  ExpectMatches(R"({"type":"string","format":"relative-json-pointer"})", {R"("0#")", R"("1/a~1b")"},
                {R"("/a")", R"("01")"});
  ExpectMatches(R"({"type":"string","format":"uri-template"})", {R"("http://e.org/{id}{?q*,n:3}")"},
                {R"("{a")", R"("a b")"});
}

TEST(SchemaKeywordsTest, ListedValuesAreHeldToOtherKeywords) {
  ExpectMatches(R"({"enum":[5,7.5,8,"x"],"multipleOf":2.5})", {"5", "7.5", R"("x")"}, {"8"});
  ExpectMatches(R"({"type":"string","enum":["2024-02-29","today"],"format":"date"})", {R"("2024-02-29")"},
                {R"("today")"});
  ExpectMatches(R"({"enum":[[1,1],[1,2],[true]],"uniqueItems":true,"contains":{"type":"integer"}})", {"[1, 2]"},
                {"[1, 1]", "[true]"});
  ExpectMatches(R"({"enum":[{"a":1},{"b":1},{"a":1,"xy":"s"}],"propertyNames":{"maxLength":1},
                    "patternProperties":{"^a":{"type":"integer"}},"additionalProperties":false})",
                {R"({"a": 1})"}, {R"({"b": 1})"});
  ExpectMatches(R"({"enum":[1,2,3],"minimum":1,"exclusiveMinimum":true})", {"2", "3"}, {"1"});
}

TEST(SchemaKeywordsTest, ReferencesByName) {
  ExpectMatches(R"({"$ref":"#tree","$defs":{"t":{"$anchor":"tree","type":"array","items":{"$ref":"#tree"}}}})",
                {"[]", "[[],[]]"}, {"[1]"});
  ExpectMatches(
      R"({"$id":"https://e.org/s","properties":{"a":{"$ref":"https://e.org/s#/$defs/n"}},"$defs":{"n":{"type":"null"}}})",
      {R"({"a":null})"}, {R"({"a":1})"});
  EXPECT_THAT(ErrorOf(Schema(R"({"$ref":"#nowhere"})")), HasSubstr("'#nowhere' is not in this schema"));
}

TEST(SchemaKeywordsTest, UnevaluatedPropertiesClosesWhatIsMerged) {
  ExpectMatches(
      R"({"type":"object","allOf":[{"properties":{"a":{"type":"integer"}}}],"properties":{"b":{"type":"integer"}},
                    "unevaluatedProperties":false})",
      {R"({"b":1,"a":2})", R"({"a":1})", "{}"}, {R"({"c":1})", R"({"a":1,"c":1})"});
  ExpectMatches(R"({"type":"object","properties":{"a":{"type":"integer"}},"unevaluatedProperties":{"type":"string"}})",
                {R"({"a":1,"x":"y"})"}, {R"({"x":1})"});
  EXPECT_THAT(ErrorOf(Schema(R"({"unevaluatedProperties":false,"oneOf":[{"required":["a"]},{"required":["b"]}]})")),
              HasSubstr("at #/unevaluatedProperties: is not supported beside 'oneOf'"));
}

}  // namespace
}  // namespace inferflux::text
