// Prompts and answers at their edges: lists of texts, markers that are none, what an answer lacks, and the grammars'
// rules word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/field_format.h"
#include "dspy/adapters/field_stream.h"
#include "dspy/adapters/gbnf_writer.h"
#include "dspy/adapters/llama_cpp_adapter.h"
#include "dspy/adapters/parse_answer.h"
#include "dspy/python/python_format.h"

namespace inferflux::dspy {
namespace {

using ::testing::ElementsAre;

TEST(FieldFormatTest, TextsOfAListAreNumberedAndQuoted) {
  const auto shown = [](boost::json::array texts) { return FormatValue(FieldType::Str(), std::move(texts)); };
  EXPECT_EQ(shown({}), "N/A");
  EXPECT_EQ(shown({"a"}), "«a»");
  EXPECT_EQ(shown({"a\nb"}), "«««\n    a\n    b\n»»»");
  EXPECT_EQ(shown({"a « b"}), "«««\n    a « b\n»»»");
  EXPECT_EQ(shown({"a » b"}), "«««\n    a » b\n»»»");
  EXPECT_EQ(shown({"a", "b\nc", 3}), "[1] «a»\n[2] «««\n    b\n    c\n»»»\n[3] «3»");
  EXPECT_EQ(FormatValue(FieldType::Str(), true), "True");
  EXPECT_EQ(FormatValue(FieldType::List(FieldType::Str()), boost::json::array{"a"}), "[\"a\"]");
  EXPECT_EQ(FormatValue(FieldType::Any(), {{"a", 1}}), "{\"a\": 1}");
}

TEST(FieldFormatTest, FieldsAreNumberedWithTheirTypes) {
  const auto signature = SignatureBuilder()
                             .Input("q", FieldType::Str(), "what is asked")
                             .Input("n", FieldType::Int())
                             .Output("b", FieldType::Bool())
                             .Output("f", FieldType::Float())
                             .Output("l", FieldType::Literal({"a", 1}))
                             .Output("e", FieldType::Enum("E", {{"A", "x"}, {"B", 2}}))
                             .Output("x", FieldType::List(FieldType::Int()))
                             .Output("s")
                             .Build();
  EXPECT_EQ(DescribeFields(signature->inputs()), "1. `q` (str): what is asked\n2. `n` (int):");
  EXPECT_EQ(DescribeFields({}), "");
  std::vector<std::string> notes;
  for (const Field& field : signature->outputs()) notes.push_back(Placeholder(field, true) + TypeReminder(field));
  const std::string note = "        # note: the value you produce must ",
                    must = " (must be formatted as a valid Python ";
  EXPECT_THAT(notes,
              ElementsAre("{b}" + note + "be True or False" + must + "bool)",
                          "{f}" + note + "be a single float value" + must + "float)",
                          "{l}" + note + "exactly match (no extra characters) one of: a; 1" + must + "Literal['a', 1])",
                          "{e}" + note + "be one of: x; 2" + must + "E)",
                          "{x}" + note + R"(adhere to the JSON schema: {"type": "array", "items": )" +
                              R"({"type": "integer"}})" + must + "list[int])",
                          "{s}"));
  EXPECT_EQ(Placeholder(signature->inputs()[1], false), "{n}");
}

TEST(MarkerTest, AHeaderIsWholeOrBegunOrNone) {
  using Kind = MarkerMatch::Kind;
  for (const char* partial : {"", "[", "[[", "[[ ## ", "[[ ## a", "[[ ## a ", "[[ ## a1_Zé ## ]"}) {
    EXPECT_EQ(MatchHeader(partial).kind, Kind::kPartial) << partial;
  }
  for (const char* none :
       {"x", "[x", "[[ ## a-b ## ]]", "[[ ## a x", "[[ ## a ## x", "[[ ##  ## ]]x", "[[ # a ## ]]"}) {
    EXPECT_EQ(MatchHeader(none).kind, Kind::kNone) << none;
  }
  const MarkerMatch match = MatchHeader("[[ ## aZ09_é ## ]] rest");
  EXPECT_EQ(match.kind, Kind::kMarker);
  EXPECT_EQ(match.field, "aZ09_é");
  EXPECT_EQ(match.size, std::string("[[ ## aZ09_é ## ]]").size());
  const auto of = [](char c) { return MatchHeader("[[ ## " + std::string(1, c) + " ## ]]"); };
  for (const char inside : std::string("azAZ09_\x80\xFF")) EXPECT_EQ(of(inside).kind, Kind::kMarker) << inside;
  for (const char outside : std::string("`{@[/:-\x7F")) EXPECT_EQ(of(outside).kind, Kind::kNone) << outside;
}

TEST(MarkerTest, ANameIsFollowedByAColonInAnyCase) {
  const auto signature =
      SignatureBuilder().Input("q").Output("my_az", {}, "", "Its name:").Output("b", {}, "", "B").Build();
  const MatchMarker match = NameMarkers(*signature);
  using Kind = MarkerMatch::Kind;
  for (const char* partial : {"", "m", "MY_A", "its n", "b"}) EXPECT_EQ(match(partial).kind, Kind::kPartial) << partial;
  for (const char* none : {"my-az:", "bb:", "x"}) EXPECT_EQ(match(none).kind, Kind::kNone) << none;
  for (const char* marker : {"my_az: 4", "MY_AZ:4", "iTS NAME: x"}) {
    EXPECT_EQ(match(marker).kind, Kind::kMarker) << marker;
    EXPECT_EQ(match(marker).field, "my_az");
  }
  EXPECT_EQ(match("its name: x").size, 9u);
  EXPECT_EQ(match("B: x").field, "b");
  const auto letters = SignatureBuilder().Input("q").Output("az").Output("x", {}, "", "[@`{/:").Build();
  const MatchMarker exact = NameMarkers(*letters);
  for (const char* marker : {"AZ:", "Az:", "aZ:", "[@`{/:"}) EXPECT_EQ(exact(marker).kind, Kind::kMarker) << marker;
  for (const char* none : {"{@`{/:", "[`", "[@@", "[@`["}) EXPECT_EQ(exact(none).kind, Kind::kNone) << none;
}

std::string Cut(std::string_view text) {
  const auto signature = Signature::Parse("q -> a, b");
  return JsonDumps(CutFields(*NewMarkerStream(*signature, MatchHeader), text));
}

TEST(MarkerTest, FieldsAreWhatStandsBetweenMarkers) {
  EXPECT_EQ(Cut("before\n[[ ## a ## ]]\n  one\n two \n\n[[ ## b ## ]] 2"), R"({"a": "one\n two", "b": "2"})");
  EXPECT_EQ(Cut("  \t[[ ## a ## ]]\r\nx\r\ny\rz"), R"({"a": "x\ny\nz"})");
  EXPECT_EQ(Cut("[[ ## a ## ]]\nx\n[[ ## a ## ]]\ny"), R"({"a": "x"})") << "the first counts";
  EXPECT_EQ(Cut("[[ ## a ## ]]\nx\n[[ ## c ## ]]\ny"), R"({"a": "x"})") << "another name ends a field";
  EXPECT_EQ(Cut("[[ ## a ## ]]\n[[ ## b ## ]]"), R"({"a": "", "b": ""})");
  EXPECT_EQ(Cut("[[ ## a ## ]]\n [[ ## \n x"), R"({"a": "[[ ## \n x"})");
  EXPECT_EQ(Cut("[[ ## a ## ]]\nx [[ ## b ## ]] y"), R"({"a": "x [[ ## b ## ]] y"})") << "only at a line's beginning";
  EXPECT_EQ(Cut("[[ ## a ## ]]\n\xF0\x9F"), "{\"a\": \"\xF0\x9F\"}") << "a part of a character";
  EXPECT_EQ(Cut("x"), "{}");
}

std::string CutJson(std::string_view text) {
  const auto signature = Signature::Parse("q -> a, b");
  return JsonDumps(CutFields(*NewJsonStream(*signature), text));
}

TEST(JsonStreamTest, MembersAreCutAsTheyAreWritten) {
  EXPECT_EQ(CutJson(R"~(x {"a": "1", 'b': [1, ")", (2)] } more)~"), R"({"a": "1", "b": "[1, \")\", (2)]"})");
  EXPECT_EQ(CutJson(R"({"a":{"b": "}"},"b":tr)"), R"({"a": "{\"b\": \"}\"}", "b": "tr"})");
  EXPECT_EQ(CutJson(R"({"a": "1", "a": "2", "b": 3})"), R"({"a": "1", "b": "3"})") << "the first counts";
  EXPECT_EQ(CutJson(R"({"a": "1"} {"b": 2})"), R"({"a": "1"})");
  EXPECT_EQ(CutJson(R"({"a": "1", x "b": 2})"), R"({"a": "1"})");
  EXPECT_EQ(CutJson(R"({"a": "x\"y", "b": 'it\'s'})"), R"({"a": "x\"y", "b": "it's"})");
  EXPECT_EQ(CutJson(R"({"a": ["\"", '}'], "b": "\\"})"), R"({"a": "[\"\\\"\", '}']", "b": "\\"})");
  EXPECT_EQ(CutJson("{\t\"a\"\v:\f 1 \r, \"b\":2\n}"), R"({"a": "1", "b": "2"})");
  EXPECT_EQ(CutJson(R"({"\u0061": "1"})"), R"({"a": "1"})");
}

TEST(JsonStreamTest, ATextIsHandedOutAsSoonAsItIsDecided) {
  const auto signature = Signature::Parse("q -> a");
  const auto stream = NewJsonStream(*signature);
  std::string grown;
  const auto fed = [&](std::string_view piece) {
    stream->Feed(piece, [&](std::string_view, std::string_view text) { grown += text; });
    return grown;
  };
  EXPECT_EQ(fed("{\"a\": \"xy"), "xy");
  EXPECT_EQ(fed("\\"), "xy");
  EXPECT_EQ(fed("n"), "xy") << "a surrogate may follow an escape";
  EXPECT_EQ(fed("0123456789"), "xy");
  EXPECT_EQ(fed("0"), "xy\n01234567890");
  EXPECT_EQ(fed("z"), "xy\n01234567890z");
  EXPECT_EQ(fed("\xC3"), "xy\n01234567890z");
  EXPECT_EQ(fed("\xA4"), "xy\n01234567890zä");
}

TEST(ParseAnswerTest, WhatIsMissingIsNamedWithTheAnswersBeginning) {
  const auto two = Signature::Parse("q -> a, n: int, o: Optional[str]");
  const auto message = [&](const std::string& text, const Values& found) {
    const auto refused = FromWholeText(*two, text, found);
    return refused ? std::string() : refused.error().message + " [" + refused.error().field + "]";
  };
  EXPECT_EQ(message("x", {}), "the answer lacks 'a' (str), 'n' (int); it is \"x\" [a]");
  EXPECT_EQ(message("x", {{"a", "1"}}), "the answer lacks 'n' (int); it is \"x\" [n]");
  EXPECT_EQ(message("x", {{"a", "1"}, {"n", "2"}}), "the answer lacks all fields; it is \"x\" [a]");
  const std::string whole = "ab" + std::string(197, 'x') + "c";
  EXPECT_EQ(message(whole, {{"a", "1"}}), "the answer lacks 'n' (int); it is \"" + whole + "\" [n]");
  EXPECT_EQ(message(whole + "y", {{"a", "1"}}), "the answer lacks 'n' (int); it is \"" + whole + "...\" [n]");
  EXPECT_EQ(FromWholeText(*Signature::Parse("q -> n: int"), " \n", {}).error().message,
            "the answer is empty, and the field 'n' must be int");
  EXPECT_EQ(JsonDumps(*FromFields(*two, {{"a", "1"}, {"n", "2"}})), R"({"a": "1", "n": 2, "o": null})");
  EXPECT_EQ(JsonDumps(*FromFields(*two, {{"a", "1"}, {"o", "2"}})), "{}");
  EXPECT_EQ(JsonDumps(*FromFields(*Signature::Parse("q -> o: Optional[str]"), {{"x", "1"}})), "{}");
}

std::string Rules(const FieldType& type) {
  GbnfWriter writer;
  const auto value = writer.Value(type, "text");
  return value ? writer.Take() + *value : value.error().message;
}
FieldType Object(boost::json::object schema) { return FieldType::Object("P", std::move(schema)); }

TEST(GbnfWriterTest, EachTypeHasItsRule) {
  const std::string integer = R"(int ::= "-"? ("0" | [1-9] [0-9]{0,17}))"
                              "\n";
  const std::string character = R"(char ::= [^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt])"
                                "\n";
  EXPECT_EQ(Rules(FieldType::Str()), "text");
  EXPECT_EQ(Rules(FieldType::Optional(FieldType::Str())), "text");
  EXPECT_EQ(Rules(FieldType::Bool()), R"(("True" | "False"))");
  EXPECT_EQ(Rules(FieldType::Literal({"a b", 1, " c ", ""})), R"(("a b" | "1" | "' c '" | "''"))");
  EXPECT_EQ(Rules(FieldType::Literal({"\"\\\x7F\x1Fé"})), R"(("\x22\x5C\x7F\x1Fé"))");
  EXPECT_EQ(Rules(FieldType::Int()), integer + "int");
  EXPECT_EQ(Rules(FieldType::Float()),
            R"(number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?)"
            "\nnumber");
  EXPECT_EQ(Rules(FieldType::Optional(FieldType::Int())), integer + R"((int | "null"))");
  EXPECT_EQ(Rules(FieldType::List(FieldType::Int())), integer + "v0 ::= int\n" + R"(("[" (v0 (", " v0){0,})? "]"))");
  EXPECT_EQ(Rules(FieldType::Dict(FieldType::Int())),
            integer + character + R"(v0 ::= "\"" char* "\": " int)" + "\n" + R"(("{" (v0 (", " v0)*)? "}"))");
  EXPECT_EQ(Rules(FieldType::List(FieldType::Literal({"a", "b"}))),
            "v0 ::= (\"\\x22a\\x22\" | \"\\x22b\\x22\")\n" + std::string(R"(("[" (v0 (", " v0){0,})? "]"))"));
}

// The body of the rule for a member with this schema.
std::string Member(const boost::json::object& schema) {
  const std::string rules = Rules(Object({{"type", "object"}, {"properties", {{"m", schema}}}}));
  const size_t at = rules.find("\\x22m\\x22: ");
  return at == std::string::npos ? rules : rules.substr(at + 11, rules.find('\n', at) - at - 11);
}

TEST(GbnfWriterTest, LimitsOfASchemaAreThoseOfItsRule) {
  const auto list = [](boost::json::object limits) {
    limits["type"] = "array";
    limits["items"] = {{"type", "null"}};
    return Member(limits);
  };
  EXPECT_EQ(list({}), R"(" ("[" (v1 (", " v1){0,})? "]") "}"))");
  EXPECT_EQ(list({{"minItems", 1}}), R"(" ("[" (v1 (", " v1){0,}) "]") "}"))");
  EXPECT_EQ(list({{"minItems", 3}, {"maxItems", 5}}), R"(" ("[" (v1 (", " v1){2,4}) "]") "}"))");
  EXPECT_EQ(list({{"maxItems", 1}}), R"(" ("[" (v1 (", " v1){0,0})? "]") "}"))");
  EXPECT_EQ(list({{"maxItems", 0}}), R"(" "[]" "}"))");
  EXPECT_EQ(list({{"minItems", -1}}), R"(" ("[" (v1 (", " v1){0,})? "]") "}"))") << "no limit";
  EXPECT_EQ(Member({{"type", "string"}}), R"(" ("\"" char{0,} "\"") "}"))");
  EXPECT_EQ(Member({{"type", "string"}, {"minLength", 2}, {"maxLength", 4}}), R"(" ("\"" char{2,4} "\"") "}"))");
  EXPECT_EQ(Member({{"type", "boolean"}}), R"(" ("true" | "false") "}"))");
  EXPECT_EQ(Member({{"type", "null"}}), R"(" "null" "}"))");
  EXPECT_EQ(Member({{"const", "x"}}), R"(" "\x22x\x22" "}"))");
  EXPECT_EQ(Member({{"enum", {1, "x"}}}), R"(" ("1" | "\x22x\x22") "}"))");
  EXPECT_EQ(Member({{"anyOf", {{{"type", "null"}}, {{"const", 1}}}}}), R"(" ("null" | "1") "}"))");
  EXPECT_EQ(Member({{"type", "object"}, {"additionalProperties", false}}), R"(" "{}" "}"))");
  EXPECT_EQ(Member({{"type", "object"}, {"additionalProperties", {{"type", "null"}}}}),
            R"(" ("{" (v1 (", " v1)*)? "}") "}"))");
  EXPECT_EQ(Member({{"type", "object"}, {"additionalProperties", true}}), R"(" ("{" (v1 (", " v1)*)? "}") "}"))");
  EXPECT_EQ(Member({{"title", "x"}}), R"(" any0 "}"))");
  EXPECT_EQ(Member({{"type", "object"}, {"properties", {{"a", {{"const", 1}}}, {"b", {{"const", 2}}}}}}),
            R"(" ("{" "\x22a\x22: " "1" ", \x22b\x22: " "2" "}") "}"))");
}

// How many members there are makes them no deeper.
TEST(GbnfWriterTest, AnObjectMayHaveManyMembersOfEachKind) {
  const boost::json::object kinds[] = {{{"type", "null"}},   {{"type", "array"}, {"items", {{"type", "null"}}}},
                                       {{"enum", {1, 2}}},   {{"anyOf", {{{"type", "null"}}, {{"const", 1}}}}},
                                       {{"const", 1}},       {{"title", "anything"}},
                                       {{"type", "object"}}, {{"type", "object"}, {"properties", {{"a", true}}}}};
  for (const auto& kind : kinds) {
    boost::json::object members;
    for (int i = 0; i < 40; ++i) members["m" + std::to_string(i)] = kind;
    EXPECT_EQ(Rules(Object({{"type", "object"}, {"properties", members}})).find("no grammar"), std::string::npos)
        << JsonDumps(kind);
  }
}

TEST(GbnfWriterTest, WhatHasNoRuleIsNamed) {
  const std::string none = "no grammar can be made: ";
  for (const char* limit : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
    EXPECT_EQ(Member({{"type", "integer"}, {limit, 1}}), none + "the schema's '" + limit + "' is not regular here");
  }
  EXPECT_EQ(Member({{"type", "odd"}}), none + "the schema's type 'odd' is not known");
  EXPECT_EQ(Member({{"$ref", "#/$defs/X"}}), none + "'#/$defs/X' refers to nothing");
  EXPECT_EQ(Rules(FieldType::Literal({"a\nb"})), none + "a value of Literal['a\nb'] has several lines");
  EXPECT_EQ(Rules(FieldType::Literal({"a\r"})), none + "a value of Literal['a\r'] has several lines");
  EXPECT_EQ(Rules(FieldType::Literal({"x [[ ##"})), none + "a value of Literal['x [[ ##'] has a marker");
  const auto nested = [](int depth) {
    boost::json::object schema = {{"type", "null"}};
    for (int i = 0; i < depth; ++i) schema = boost::json::object{{"type", "array"}, {"items", schema}};
    return Member(schema);
  };
  EXPECT_EQ(nested(30).find(none), std::string::npos);
  EXPECT_EQ(nested(31), none + "the schema is nested too deep");
}

// "@" and "[" are next to the letters in ASCII, and have no upper or lower case.
TEST(GbnfWriterTest, TextHasNoLineThatBeginsWithAMarker) {
  const auto rules = [](const std::vector<std::string>& markers, bool first_line_free) {
    GbnfWriter writer;
    writer.TextWithout("t", markers, first_line_free);
    return writer.Take();
  };
  const std::string ends = R"(\n\x0B\x0C\r\x1C-\x1E\u0085\u2028\u2029)";
  const std::string blank = R"( \t\x1F\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000)";
  EXPECT_EQ(rules({"aZ", "@", "é:"}, false), "t-n0 ::= (\"\" | [^" + ends + blank + R"(\x40aA\U000000E9] [^)" + ends +
                                                 R"(]* | [aA] t-n1 | [\U000000E9] t-n4))" + "\nt-n1 ::= (\"\" | [^" +
                                                 ends + "zZ] [^" + ends + "]*)\n" + "t-n4 ::= (\"\" | [^" + ends +
                                                 R"(\x3A] [^)" + ends + "]*)\n" + "t-line ::= [" + blank + "]* t-n0\n" +
                                                 "t ::= t-line (\"\\n\" t-line)*\n");
  EXPECT_EQ(rules({"["}, true), "t-n0 ::= (\"\" | [^" + ends + blank + R"(\x5B] [^)" + ends + "]*)\nt-line ::= [" +
                                    blank + "]* t-n0\nt ::= [^" + ends + "]* (\"\\n\" t-line)*\n");
  const std::string others = rules({"`{09"}, true);
  for (const char* each : {R"(\x60] [^)", R"(\x7B] [^)", "0] [^", "9] [^"}) {
    EXPECT_NE(others.find(each), std::string::npos) << each << " in " << others;
  }
}

}  // namespace
}  // namespace inferflux::dspy
