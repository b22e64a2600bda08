// What an answer's text and an answer's JSON become by type, and what they do not.
#include "dspy/signature/convert.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dspy/python/literal_reader.h"
#include "dspy/python/python_format.h"
#include "dspy/signature/json_schema_check.h"
#include "dspy/signature/type_parser.h"

namespace inferflux::dspy {
namespace {

const NamedTypes& Types() {
  static const NamedTypes types = {{"Color", FieldType::Enum("Color", {{"RED", "rot"}, {"ONE", 1}})}};
  return types;
}

FieldType TypeOf(std::string_view text) {
  TypeParser parser(text, Types());
  auto type = parser.Parse();
  EXPECT_TRUE(type && parser.AtEnd()) << text;
  return type ? *type : FieldType::Str();
}

std::string Shown(const Result<boost::json::value>& value) { return value ? JsonDumps(*value) : "-"; }

// The text of an answer as a value of the type, as JSON; "-" where it is none.
std::string OfText(const char* type, std::string_view text) {
  return Shown(ConvertText({.name = "f", .type = TypeOf(type)}, text));
}
std::string OfValue(const char* type, const boost::json::value& value) {
  return Shown(ConvertValue({.name = "f", .type = TypeOf(type)}, value));
}

TEST(ConvertEdgesTest, TextsBecomeTheirTypes) {
  struct Row {
    const char* type;
    std::string text;
    const char* json;
  };
  for (const Row& row : std::vector<Row>{{"int", "+4", "4"},
                                         {"int", "4.0", "4"},
                                         {"int", "4.", "4"},
                                         {"int", "4.5", "-"},
                                         {"int", "'4.00'", "4"},
                                         {"int", "'4.'", "-"},
                                         {"int", "'4.01'", "-"},
                                         {"int", "' +4 '", "4"},
                                         {"int", "'4x'", "-"},
                                         {"int", "True", "1"},
                                         {"int", "9e18", "9000000000000000000"},
                                         {"int", "9.2e18", "-"},
                                         {"int", "-9.2e18", "-"},
                                         {"int", "[1]", "-"},
                                         {"float", "3", "3.0"},
                                         {"float", "true", "1.0"},
                                         {"float", "'+2.5'", "2.5"},
                                         {"float", "' 1e3 '", "1000.0"},
                                         {"float", "'2.5x'", "-"},
                                         {"float", "'inf'", "-"},
                                         {"float", "null", "-"},
                                         {"bool", "1", "true"},
                                         {"bool", "0.0", "false"},
                                         {"bool", "2", "-"},
                                         {"bool", "0.5", "-"},
                                         {"bool", " YES ", "true"},
                                         {"bool", "Off", "false"},
                                         {"bool", "t", "true"},
                                         {"bool", "n", "false"},
                                         {"bool", "maybe", "-"},
                                         {"str", "[1]", "\"[1]\""},
                                         {"Optional[str]", "None", "\"None\""},
                                         {"Optional[int]", "None", "null"},
                                         {"Optional[int]", "'5'", "5"},
                                         {"Union[int, float]", "2.5", "2.5"},
                                         {"Union[int, bool]", "true", "true"},
                                         {"Union[int, bool]", "'yes'", "true"},
                                         {"Union[str, int]", "4", "4"},
                                         {"Union[float, list[int]]", "['1']", "[1]"},
                                         {"Any", "[1, 'x']", "[1, \"x\"]"},
                                         {"list", "[1, 'x']", "[1, \"x\"]"},
                                         {"list", "1", "-"},
                                         {"list[int]", "['1', 2.0]", "[1, 2]"},
                                         {"list[int]", "['x']", "-"},
                                         {"dict", "{'a': 1}", "{\"a\": 1}"},
                                         {"dict", "[1]", "-"},
                                         {"dict[str, int]", "{'a': '1'}", "{\"a\": 1}"},
                                         {"dict[str, int]", "{'a': 'x'}", "-"},
                                         {"History", "{'messages': []}", "{\"messages\": []}"},
                                         {"History", "1", "-"}}) {
    EXPECT_EQ(OfText(row.type, row.text), row.json) << row.type << " of " << row.text;
  }
}

TEST(ConvertEdgesTest, AChoiceMayBeWrittenInItsQuotesAndItsType) {
  for (const char* text : {"a", " a ", "'a'", "\"a\"", "Literal[a]", "Literal['a']", "str['a']", "str[a]"}) {
    EXPECT_EQ(OfText("Literal['a', 'it is']", text), "\"a\"") << text;
  }
  for (const char* text : {"'a\"", "'a", "a'", "Literal['a'", "List['a']", "b", "'", "''", ""}) {
    EXPECT_EQ(OfText("Literal['a', 'it is']", text), "-") << text;
  }
  EXPECT_EQ(OfText("Literal['']", "''"), "\"\"");
  EXPECT_EQ(OfText("Literal[1, True, None, '1']", "1"), "\"1\"") << "as it is comes first";
  EXPECT_EQ(OfText("Literal[1, True, None]", "1"), "1");
  EXPECT_EQ(OfText("Literal[1, True, None]", "True"), "true");
  EXPECT_EQ(OfText("Literal[1, True, None]", "None"), "null");
  EXPECT_EQ(OfValue("Literal[1, 2]", 2), "2");
  EXPECT_EQ(OfValue("Literal[1, 2]", 2.0), "-");
  EXPECT_EQ(OfText("Color", "rot"), "\"rot\"");
  EXPECT_EQ(OfText("Color", " RED "), "\"rot\"") << "by the member's name";
  EXPECT_EQ(OfText("Color", "ONE"), "1");
  EXPECT_EQ(OfText("Color", "TWO"), "-");
  EXPECT_EQ(OfValue("Color", 1), "1");
  EXPECT_EQ(OfValue("Color", 2), "-");
  EXPECT_EQ(OfValue("str", boost::json::array{1, "x"}), "\"[1, 'x']\"") << "as str() writes it";
}

TEST(ConvertEdgesTest, ErrorsQuoteUpTo200Bytes) {
  const Field field{.name = "f", .type = FieldType::Int()};
  const std::string most = "ab" + std::string(197, 'x') + "c";
  EXPECT_EQ(ConvertText(field, most).error().message, "the field 'f' must be int, and the answer has \"" + most + "\"");
  EXPECT_EQ(ConvertText(field, most + "d").error().message,
            "the field 'f' must be int, and the answer has \"" + most + "...\"");
  EXPECT_EQ(ConvertText(field, std::string(199, 'x') + "üy").error().message,
            "the field 'f' must be int, and the answer has \"" + std::string(199, 'x') + "ü...\"");
  EXPECT_EQ(ConvertText(field, "ü" + std::string(199, 'x')).error().message,
            "the field 'f' must be int, and the answer has \"ü" + std::string(198, 'x') + "...\"");
  EXPECT_EQ(ConvertValue(field, {1, "x"}).error().message,
            "the field 'f' must be int, and the answer has \"[1, 'x']\"");
  const Field object{.name = "p", .type = FieldType::Object("P", {{"type", "object"}})};
  EXPECT_EQ(ConvertText(object, "[]").error().message,
            "the field 'p' must be P, and the answer has \"[]\": at $: must be of type object");
}

TEST(ConvertEdgesTest, InputsAreOfTheirTypesExactly) {
  const auto check = [](const char* type, const boost::json::value& value) {
    return CheckInput({.name = "f", .type = TypeOf(type)}, value).has_value();
  };
  EXPECT_TRUE(check("bool", true) && check("Literal[1, 'a']", 1) && check("Color", "rot") && check("Any", nullptr));
  EXPECT_FALSE(check("bool", 1) || check("Literal[1, 'a']", "1") || check("Color", "RED") || check("float", "1"));
  EXPECT_TRUE(check("list", boost::json::array{1, "x"}) && check("dict", {{"a", 1}}) &&
              check("dict[str, int]", {{"a", 1}}) && check("Union[int, bool]", true));
  EXPECT_FALSE(check("list", 1) || check("dict[str, int]", {{"a", "1"}}) || check("Union[int, bool]", "yes") ||
               check("dict", boost::json::array()));
  EXPECT_TRUE(check("str", boost::json::array()));
  EXPECT_FALSE(check("float", true));
  EXPECT_TRUE(check("History", {{"messages", boost::json::array()}}));
  EXPECT_FALSE(check("History", {{"messages", boost::json::array()}, {"more", 1}}) || check("History", 1) ||
               check("History", {{"messages", 1}}));
  EXPECT_EQ(CheckInput({.name = "f", .type = FieldType::Int()}, "x").error().message,
            "the input 'f' must be int, and is 'x'");
  EXPECT_EQ(CheckInput({.name = "h", .type = FieldType::History()}, 1).error().message,
            "the input 'h' must be a History, {\"messages\": [{field: value}]}, and is 1");
}

// A value by the schema, as JSON, or what is wrong with it.
std::string By(const boost::json::object& schema, const boost::json::value& value) {
  const auto converted = ConvertBySchema(schema, value);
  return converted ? JsonDumps(*converted) : converted.error();
}

TEST(JsonSchemaTest, LimitsHoldTheirEnds) {
  const boost::json::object number = {{"minimum", 2}, {"maximum", 4.5}};
  EXPECT_EQ(By(number, 2), "2");
  EXPECT_EQ(By(number, 4.5), "4.5");
  EXPECT_EQ(By(number, 1), "at $: minimum is 2, and this is 1");
  EXPECT_EQ(By(number, 5), "at $: maximum is 4.5, and this is 5");
  const boost::json::object open = {{"exclusiveMinimum", 2}, {"exclusiveMaximum", 4}};
  EXPECT_EQ(By(open, 3), "3");
  EXPECT_EQ(By(open, 2), "at $: must be above 2");
  EXPECT_EQ(By(open, 4), "at $: must be below 4");
  const boost::json::object list = {{"minItems", 1}, {"maxItems", 2}, {"items", {{"type", "integer"}}}};
  EXPECT_EQ(By(list, boost::json::array{1.0, 2}), "[1, 2]");
  EXPECT_EQ(By(list, boost::json::array()), "at $: minItems is 1, and this is 0");
  EXPECT_EQ(By(list, boost::json::array{1, 2, 3}), "at $: maxItems is 2, and this is 3");
  EXPECT_EQ(By(list, boost::json::array{1, "x"}), "at $[1]: must be of type integer");
  const boost::json::object text = {{"minLength", 1}, {"maxLength", 2}};
  EXPECT_EQ(By(text, "ü"), "\"ü\"");
  EXPECT_EQ(By(text, "üö"), "\"üö\"");
  EXPECT_EQ(By(text, ""), "at $: minLength is 1, and this is 0");
  EXPECT_EQ(By(text, "abc"), "at $: maxLength is 2, and this is 3");
}

TEST(JsonSchemaTest, EachKeywordIsHonoured) {
  for (const auto& [type, good, bad] :
       {std::tuple<const char*, boost::json::value, boost::json::value>{"string", "x", 1},
        {"boolean", true, 1},
        {"null", nullptr, false},
        {"array", boost::json::array(), 1},
        {"object", boost::json::object(), 1},
        {"number", 1.5, "1"},
        {"integer", 3, 3.5}}) {
    EXPECT_EQ(By({{"type", type}}, good), JsonDumps(good));
    EXPECT_EQ(By({{"type", type}}, bad), std::string("at $: must be of type ") + type);
  }
  EXPECT_EQ(By({{"type", "integer"}}, 8e15), "8000000000000000");
  EXPECT_EQ(By({{"type", "integer"}}, 9e15), "at $: must be of type integer");
  EXPECT_EQ(By({{"type", "odd"}}, 1), "at $: must be of type odd");
  EXPECT_EQ(By({{"const", 1}}, 1), "1");
  EXPECT_EQ(By({{"const", 1}}, 2), "at $: must be 1");
  EXPECT_EQ(By({{"enum", {1, "x"}}}, "x"), "\"x\"");
  EXPECT_EQ(By({{"enum", {1, "x"}}}, 2), "at $: must be one of [1,\"x\"]");
  const boost::json::object either = {{"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}}};
  EXPECT_EQ(By(either, 1.0), "1");
  EXPECT_EQ(By(either, "x"), "\"x\"");
  EXPECT_EQ(By(either, true), "at $: must be of type string");
  const boost::json::object with = {{"$ref", "#/$defs/N"}, {"$defs", {{"N", {{"type", "integer"}}}}}};
  EXPECT_EQ(By(with, 1.0), "1");
  EXPECT_EQ(By(with, "x"), "at $: must be of type integer");
  EXPECT_EQ(By({{"$ref", "#/$defs/M"}}, 1), "at $: the schema's '$ref' refers to nothing");
  const boost::json::object object = {{"properties", {{"a", {{"default", 7}}}, {"b", true}, {"c", false}}},
                                      {"additionalProperties", {{"type", "integer"}}},
                                      {"required", {"b"}}};
  EXPECT_EQ(By(object, {{"b", "x"}, {"z", 2.0}}), R"({"b": "x", "z": 2, "a": 7})");
  EXPECT_EQ(By(object, {{"a", 1}, {"b", nullptr}}), R"({"a": 1, "b": null})");
  EXPECT_EQ(By(object, {{"a", 1}}), "at $: 'b' is missing");
  EXPECT_EQ(By(object, {{"b", 1}, {"c", 1}}), "at $.c: not expected");
  EXPECT_EQ(By(object, {{"b", 1}, {"z", "x"}}), "at $.z: must be of type integer");
}

TEST(JsonSchemaTest, ASchemaThatIsNotHonouredIsNamedWithItsPlace) {
  const auto said = [](const boost::json::object& schema) {
    const auto checked = CheckSchema(schema);
    return checked ? std::string() : checked.error().message;
  };
  const std::string at = "the JSON schema at ";
  for (const auto& [schema, message] : std::vector<std::pair<boost::json::object, std::string>>{
           {{{"title", 1}, {"$comment", "x"}, {"minimum", 1.5}, {"const", "x"}, {"enum", {1}}, {"required", {"a"}}},
            ""},
           {{{"pattern", "x"}}, "#: the keyword 'pattern' is not honoured; leave it out"},
           {{{"properties", {{"a", {{"pattern", 1}}}}}},
            "#/properties/a: the keyword 'pattern' is not honoured; leave it out"},
           {{{"$defs", {{"a", 1}}}}, "#/$defs/a: a schema must be an object"},
           {{{"properties", 1}}, "#: 'properties' must be an object"},
           {{{"anyOf", 1}}, "#: 'anyOf' must be a list of schemas"},
           {{{"anyOf", boost::json::array()}}, "#: 'anyOf' must be a list of schemas"},
           {{{"anyOf", {1}}}, "#/anyOf: a schema must be an object"},
           {{{"items", 1}}, "#/items: a schema must be an object"},
           {{{"items", true}, {"additionalProperties", false}}, ""},
           {{{"additionalProperties", 1}}, "#/additionalProperties: a schema must be an object"},
           {{{"$ref", 1}}, "#: '$ref' must refer to '#/$defs/...'"},
           {{{"$ref", "#/$defs/a"}}, "#: '$ref' must refer to '#/$defs/...'"},
           {{{"$ref", "a"}, {"$defs", {{"a", boost::json::object()}}}}, "#: '$ref' must refer to '#/$defs/...'"},
           {{{"type", {"string", "null"}}}, "#: 'type' must be one text; use 'anyOf' for several"},
           {{{"required", 1}}, "#: 'required' must be a list"},
           {{{"enum", 1}}, "#: 'enum' must be a list"},
           {{{"maxItems", "x"}}, "#: 'maxItems' must be a number"}}) {
    EXPECT_EQ(said(schema), message.empty() ? "" : at + message) << JsonDumps(schema);
  }
  const auto nested = [](int depth) {
    boost::json::object schema;
    for (int i = 0; i < depth; ++i) schema = boost::json::object{{"items", schema}};
    return schema;
  };
  EXPECT_EQ(said(nested(64)), "");
  EXPECT_NE(said(nested(65)).find(": schemas are nested too deep"), std::string::npos);
  boost::json::value value = boost::json::array();
  for (int i = 1; i < 64; ++i) value = boost::json::array{value};
  EXPECT_TRUE(ConvertBySchema(nested(64), value)) << "a value may be as deep as its schema";
}

TEST(JsonSchemaTest, AMillionValuesAreLookedAt) {
  const boost::json::object schema = {{"items", {{"type", "null"}}}};
  boost::json::array items(999'999, nullptr);
  EXPECT_TRUE(ConvertBySchema(schema, items));
  items.push_back(nullptr);
  const auto refused = ConvertBySchema(schema, items);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "at $[999999]: the schema has too many ways");
}

TEST(LiteralEdgesTest, ListsAreNestedUpTo64Deep) {
  const auto nested = [](size_t depth, char open, char close) {
    return ReadLiteral(std::string(depth, open) + std::string(depth, close)).has_value();
  };
  EXPECT_TRUE(nested(64, '[', ']') && nested(64, '(', ')'));
  EXPECT_FALSE(nested(65, '[', ']') || nested(65, '(', ')'));
  const auto objects = [](int depth) {
    std::string text;
    for (int i = 1; i < depth; ++i) text += "{'a':";
    return ReadLiteral(text + "{}" + std::string(static_cast<size_t>(depth - 1), '}')).has_value();
  };
  EXPECT_TRUE(objects(64));
  EXPECT_FALSE(objects(65));
}

TEST(LiteralEdgesTest, TextsHaveTheEscapesOfBothLanguages) {
  for (const auto& [text, json] : {std::pair{R"('\"\'\\\/\b\f\n\r\t')", R"("\"'\\/\b\f\n\r\t")"},
                                   {R"('\a\v\0')", R"("\u0007\u000b\u0000")"},
                                   {R"('\x41\u00e9\U0001F642')", "\"Aé🙂\""},
                                   {R"('\ud83d\ude42')", "\"🙂\""},
                                   {R"('\udbff\udfff')", "\"\U0010FFFF\""},
                                   {R"('\ud83d')", "\"\uFFFD\""},
                                   {R"('\ud83dx')", "\"\uFFFDx\""},
                                   {R"('\ud83d\u0041')", "\"\uFFFDA\""},
                                   {R"('\ud83d\ud83d')", "\"\uFFFD\uFFFD\""},
                                   {R"('\ude42')", "\"\uFFFD\""},
                                   {R"('\udfff')", "\"\uFFFD\""},
                                   {R"('\ue000\ud7ff')", "\"\uE000\uD7FF\""},
                                   {R"('\U00110000')", "\"\uFFFD\""},
                                   {R"('\q')", R"("\\q")"},
                                   {"'a\\\nb'", "\"ab\""}}) {
    const auto value = ReadLiteral(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(JsonDumps(*value), json) << text;
  }
  for (const char* text :
       {R"('\x4')", R"('\u00e')", R"('\xg0')", R"('\x4gz')", R"('\u12g45')", R"('\)", R"('a\')", "\"a'"}) {
    EXPECT_FALSE(ReadLiteral(text)) << text;
  }
}

TEST(LiteralEdgesTest, NumbersAndWordsEndWhereTheyEnd) {
  for (const auto& [text, json] : {std::pair{"+5", "5"},
                                   {"-5", "-5"},
                                   {"1e+2", "100.0"},
                                   {"1E-2", "0.01"},
                                   {"-9223372036854775808", "-9223372036854775808"},
                                   {"[1,2,]", "[1, 2]"},
                                   {"\v[\f1\r,\t2 ]\n", "[1, 2]"},
                                   {"()", "[]"},
                                   {"{}", "{}"},
                                   {"```\n1\n```", "1"},
                                   {"```py2 1```", "1"}}) {
    const auto value = ReadLiteral(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(JsonDumps(*value), json) << text;
  }
  for (const char* text : {"1-2",           "--1",   "++1",      "true_",    "None0",
                           "nullx",         "1e",    "[1 2]",    "{'a' 1}",  "{'a': 1 'b': 2}",
                           "```\n1\n``` 2", "```1",  "{1a1: 2}", "{xax: 2}", "{'a': 1,",
                           "{'a'",          "{'a':", "[",        "(",        "{",
                           "[1,",           "'"}) {
    EXPECT_FALSE(ReadLiteral(text)) << text;
  }
  size_t at = 2;
  EXPECT_EQ(ReadLiteralAt("xx 12]", at), boost::json::value(12));
  EXPECT_EQ(at, 5u);
  EXPECT_FALSE(ReadLiteralAt("xx 12]", at));
  EXPECT_EQ(at, 5u) << "unchanged where there is none";
  at = 0;
  EXPECT_FALSE(ReadLiteralAt("[1", at));
  EXPECT_EQ(at, 0u);
}

}  // namespace
}  // namespace inferflux::dspy
