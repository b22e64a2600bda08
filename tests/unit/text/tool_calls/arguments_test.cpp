// The parts that readers of tool calls share: markers, the schemas of arguments, the JSON of a call, and past calls.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "text/tool_calls/argument_schema.h"
#include "text/tool_calls/call_object.h"
#include "text/tool_calls/marker.h"
#include "text/tool_calls/past_calls.h"

namespace inferflux::text {
namespace {

namespace json = boost::json;

std::string Said(const MarkerMatch& match) {
  constexpr const char* kKinds[] = {"no", "partly", "whole"};
  return fmt::format("{} {}-{}", kKinds[static_cast<int>(match.kind)], match.begin, match.end);
}

TEST(Markers, AreMatchedWhileTheTextStillArrives) {
  const auto match = [](std::string_view text, size_t at, std::string_view marker) {
    return Said(MatchMarker(text, at, marker));
  };
  EXPECT_EQ(match("<tool>x", 0, "<tool>"), "whole 0-6");
  EXPECT_EQ(match("a \n\t\r<tool>", 1, "<tool>"), "whole 5-11");
  EXPECT_EQ(match("<to", 0, "<tool>"), "partly 0-0");
  EXPECT_EQ(match("", 0, "<tool>"), "partly 0-0");
  EXPECT_EQ(match("  ", 0, "<tool>"), "partly 2-0");
  EXPECT_EQ(match("<tools>", 0, "<tool>"), "no 0-0");
  EXPECT_EQ(match("  x", 0, ""), "whole 0-0") << "an absent marker is everywhere";
  EXPECT_EQ(match("<f  \n>", 0, "<f\n>"), "whole 0-6");
  EXPECT_EQ(match("<f>", 0, "<f\n>"), "whole 0-3");
  EXPECT_EQ(match("<f ", 0, "<f\n>"), "partly 0-0");
  EXPECT_EQ(match("call_aZ-09:", 0, "call_*:"), "whole 0-11");
  EXPECT_EQ(match("call_a", 0, "call_*:"), "partly 0-0");
  EXPECT_EQ(match("call_:", 0, "call_*:"), "no 0-0") << "a word has a letter";
  EXPECT_EQ(match("call_[:", 0, "call_*:"), "no 0-0");
  for (const char inside : std::string("azAZ09_-"))
    EXPECT_EQ(match(std::string(1, inside) + ":", 0, "*:"), "whole 0-2");
  for (const char outside : std::string("`{@[/:.,")) EXPECT_EQ(match(std::string(1, outside) + ";", 0, "*;"), "no 0-0");
}

TEST(Markers, AreFoundWhereTheyBegin) {
  const auto find = [](std::string_view text, size_t at, std::string_view marker) {
    return Said(FindMarker(text, at, marker));
  };
  EXPECT_EQ(find("ab<<tool>", 0, "<tool>"), "whole 3-9");
  EXPECT_EQ(find("<tool><tool>", 1, "<tool>"), "whole 6-12");
  EXPECT_EQ(find("ab<to", 0, "<tool>"), "partly 2-0");
  EXPECT_EQ(find("ab", 0, "<tool>"), "no 2-2");
  EXPECT_EQ(find("ab<x", 0, "<tool>"), "no 4-4");
  EXPECT_EQ(find("a <tool>", 0, "\n<tool>"), "whole 2-8") << "space before it is none of it";
  EXPECT_EQ(TrimEnd(" a \n\t\r"), " a");
  EXPECT_EQ(TrimEnd(" \n"), "");
  EXPECT_EQ(SkipSpace("a  b", 1), 3u);
  EXPECT_EQ(SkipSpace("a  ", 1), 3u);
}

// The types of "null boolean string array object number integer" that a schema allows.
std::string Allowed(const char* schema) {
  const json::value value = json::parse(schema);
  std::string out;
  for (const char* type : {"null", "boolean", "string", "array", "object", "number", "integer"}) {
    if (AllowsType(&value, type)) out += std::string(type) + " ";
  }
  return out;
}

TEST(ArgumentSchemas, SayWhichTypesTheyAllow) {
  const std::string all = "null boolean string array object number integer ";
  EXPECT_EQ(Allowed("{}"), all);
  EXPECT_EQ(Allowed("true"), all);
  EXPECT_TRUE(AllowsType(nullptr, "null"));
  EXPECT_EQ(Allowed(R"({"type":"integer"})"), "number integer ") << "the tool checks fractions";
  EXPECT_EQ(Allowed(R"({"type":["string","null",3]})"), "null string ");
  EXPECT_EQ(Allowed(R"({"type":3})"), all);
  EXPECT_EQ(Allowed(R"({"const":[1]})"), "array ");
  EXPECT_EQ(Allowed(R"({"enum":["a",1.5,null]})"), "null string number integer ");
  EXPECT_EQ(Allowed(R"({"anyOf":[{"type":"boolean"},{"enum":[{}]}]})"), "boolean object ");
  EXPECT_EQ(Allowed(R"({"oneOf":[{"type":"string"}],"anyOf":3})"), "string ");
  EXPECT_EQ(Allowed(R"({"type":"string","const":1})"), "string ") << "the type comes first";
  const auto nested = [](int depth) {
    std::string schema = R"({"type":"null"})";
    for (int i = 0; i < depth; ++i) schema = R"({"anyOf":[)" + schema + "]}";
    return Allowed(schema.c_str());
  };
  EXPECT_EQ(nested(8), "null ");
  EXPECT_EQ(nested(9), all) << "deeper is not looked at";
}

TEST(ArgumentSchemas, AMemberIsNamedOrAdditional) {
  const json::value tool = json::object();
  const auto member = [&](const char* schema) {
    const json::value parsed = json::parse(schema);
    const json::value* found = SchemaOfMember(tool, &parsed, "m");
    return found == nullptr ? "none" : json::serialize(*found);
  };
  EXPECT_EQ(member(R"({"properties":{"m":{"a":1}},"additionalProperties":{"b":2}})"), R"({"a":1})");
  EXPECT_EQ(member(R"({"properties":{"n":{"a":1}},"additionalProperties":{"b":2}})"), R"({"b":2})");
  EXPECT_EQ(member(R"({"additionalProperties":{"b":2}})"), R"({"b":2})");
  EXPECT_EQ(member(R"({"properties":["m"],"additionalProperties":false})"), "false");
  EXPECT_EQ(member(R"({"properties":{"n":{"a":1}}})"), "none");
  EXPECT_EQ(member("true"), "none");
  EXPECT_EQ(SchemaOfMember(tool, nullptr, "m"), nullptr);
}

TEST(ArgumentSchemas, AreFoundThroughReferences) {
  const json::value tool = json::parse(R"({
    "properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/one"}, "c": {"$ref": "other"}, "d": {"$ref": "#/none"},
                   "e": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/one"}]},
                   "f": {"anyOf": [{"type": "string"}, {"type": "array"}]},
                   "g": {"type": "object", "properties": {"x": {"type": "null"}}, "additionalProperties": {"$ref": "#/$defs/one"}},
                   "h": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/one"}}, {"type": "null"}]}},
    "$defs": {"one": {"$ref": "#/$defs/two"}, "two": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}}})");
  const auto shown = [](const json::value* schema) { return schema == nullptr ? "none" : json::serialize(*schema); };
  const auto argument = [&](const char* name) { return SchemaOfArgument(tool, name); };
  EXPECT_EQ(shown(argument("a")), R"({"type":"string"})");
  EXPECT_EQ(shown(argument("b")), R"({"type":"integer"})");
  EXPECT_EQ(shown(argument("c")), R"({"$ref":"other"})");
  EXPECT_EQ(shown(argument("d")), R"({"$ref":"#/none"})");
  EXPECT_EQ(shown(argument("missing")), "none");
  EXPECT_EQ(shown(SchemaOfArgument(json::parse("[]"), "a")), "none");
  EXPECT_EQ(shown(SchemaOfArgument(json::parse(R"({"properties":[]})"), "a")), "none");
  EXPECT_EQ(shown(BesideNull(tool, argument("e"))), R"({"type":"integer"})");
  EXPECT_EQ(shown(BesideNull(tool, argument("f"))), shown(argument("f"))) << "two are left";
  EXPECT_EQ(shown(SchemaOfMember(tool, argument("g"), "x")), R"({"type":"null"})");
  EXPECT_EQ(shown(SchemaOfMember(tool, argument("g"), "y")), R"({"type":"integer"})");
  EXPECT_EQ(shown(SchemaOfMember(tool, argument("a"), "y")), "none");
  EXPECT_EQ(shown(SchemaOfMember(tool, nullptr, "y")), "none");
  EXPECT_EQ(shown(SchemaOfItems(tool, argument("h"))), R"({"type":"integer"})");
  EXPECT_EQ(shown(SchemaOfItems(tool, argument("a"))), "none");
  EXPECT_EQ(shown(SchemaOfItems(tool, nullptr)), "none");
  const json::value loop = json::parse(R"({"$ref":"#/$defs/loop"})");
  EXPECT_EQ(shown(Referred(tool, &loop)), R"({"$ref":"#/$defs/loop"})") << "and it ends";
}

TEST(CallObjects, AreCallsIfTheyHaveANameAndArguments) {
  const auto call = [](const ToolCallSyntax& syntax, const char* object) {
    const auto found = CallOf(syntax, json::parse(object).as_object());
    return found ? found->name + " " + found->arguments : "none";
  };
  const ToolCallSyntax& hermes = HermesSyntax();
  ToolCallSyntax by_name = hermes;
  by_name.name_key = "";
  EXPECT_EQ(call(hermes, R"({"name":"f","arguments":{"a":1}})"), R"(f {"a":1})");
  EXPECT_EQ(call(hermes, R"({"name":"f"})"), "f {}");
  EXPECT_EQ(call(hermes, R"({"name":"","arguments":{}})"), "none");
  EXPECT_EQ(call(hermes, R"({"name":1,"arguments":{}})"), "none");
  EXPECT_EQ(call(hermes, R"({"arguments":{}})"), "none");
  EXPECT_EQ(call(hermes, R"({"name":"f","arguments":"{}"})"), "none");
  EXPECT_EQ(call(by_name, R"({"f":{"a":1}})"), R"(f {"a":1})");
  EXPECT_EQ(call(by_name, R"({"f":1})"), "none");
  EXPECT_EQ(call(by_name, R"({"f":{},"g":{}})"), "none");
  EXPECT_EQ(call(by_name, "{}"), "none");
}

TEST(CallObjects, TaggedTextIsWhatItsSchemaAllows) {
  const auto value = [](std::string_view text, const char* schema) {
    const json::value parsed = json::parse(schema);
    return json::serialize(TaggedValue(text, &parsed));
  };
  EXPECT_EQ(value("5", "{}"), "5");
  EXPECT_EQ(value("5", R"({"type":"string"})"), "\"5\"");
  EXPECT_EQ(value("True", "{}"), "true");
  EXPECT_EQ(value("False", "{}"), "false");
  EXPECT_EQ(value("None", "{}"), "null");
  EXPECT_EQ(value("none", "{}"), "\"none\"");
  EXPECT_EQ(value("\"a\"", "{}"), "\"\\\"a\\\"\"") << "quotes are part of a text";
  EXPECT_EQ(value("[1", "{}"), "\"[1\"");
  EXPECT_EQ(json::serialize(TaggedValue("{\"a\":1}", nullptr)), R"({"a":1})");
}

TEST(PastCalls, ShortIdsAreNineLettersAndDigits) {
  EXPECT_EQ(ShortId("abcXYZ019"), "abcXYZ019");
  for (const char* id : {"", "abcXYZ01", "abcXYZ0199", "abc-YZ019", "call_0123"}) {
    const std::string made = ShortId(id);
    EXPECT_EQ(made.size(), 9u) << id;
    EXPECT_EQ(ShortId(made), made) << id;
    EXPECT_NE(made, id);
  }
  EXPECT_EQ(ShortId("call_1"), ShortId("call_1"));
  EXPECT_NE(ShortId("call_1"), ShortId("call_2"));
}

std::string Adapted(const TemplateCalls& calls, const char* messages) {
  json::array list = json::parse(messages).as_array();
  AdaptPastCalls(calls, list);
  return json::serialize(list);
}

TEST(PastCalls, HaveTheFormOfTheirTemplate) {
  const char* messages =
      R"([{"role":"assistant","content":"","tool_calls":[{"id":"abcXYZ019","function":{"name":"f","arguments":{"a":1}}}]},)"
      R"({"role":"tool","tool_call_id":"abcXYZ019","content":"5"},{"role":"user","content":""}])";
  EXPECT_EQ(Adapted({}, messages), messages);
  EXPECT_EQ(
      Adapted({.null_content = true}, messages),
      R"([{"role":"assistant","content":null,"tool_calls":[{"id":"abcXYZ019","function":{"name":"f","arguments":{"a":1}}}]},)"
      R"({"role":"tool","tool_call_id":"abcXYZ019","content":"5"},{"role":"user","content":""}])");
  EXPECT_EQ(
      Adapted({.text_arguments = true, .short_ids = true}, messages),
      R"([{"role":"assistant","content":"","tool_calls":[{"id":"abcXYZ019","function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
      R"({"role":"tool","tool_call_id":"abcXYZ019","content":"5"},{"role":"user","content":""}])");
  const std::string longer =
      Adapted({.short_ids = true}, R"([{"tool_calls":[{"id":"call_1"}]},{"tool_call_id":"call_1"}])");
  EXPECT_EQ(longer, fmt::format(R"([{{"tool_calls":[{{"id":"{0}"}}]}},{{"tool_call_id":"{0}"}}])", ShortId("call_1")));
}

TEST(PastCalls, ResultsJoinTheMessageThatCalls) {
  EXPECT_EQ(
      Adapted(
          {.joint_results = true},
          R"([{"role":"tool","content":"before"},)"
          R"({"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}},{"id":"2","function":{"name":"g"}}]},)"
          R"({"role":"tool","tool_call_id":"2","content":"{\"x\":1}"},{"role":"tool","content":"[1]"},)"
          R"({"role":"tool","name":"h","content":"more"},{"role":"user","content":"so"},{"role":"tool","content":"late"}])"),
      R"([{"role":"tool","content":"before"},)"
      R"({"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}},{"id":"2","function":{"name":"g"}}],)"
      R"("tool_responses":[{"name":"g","response":{"x":1}},{"name":"g","response":"[1]"},{"name":"h","response":"more"}]},)"
      R"({"role":"user","content":"so"},{"role":"tool","content":"late"}])");
}

}  // namespace
}  // namespace inferflux::text
