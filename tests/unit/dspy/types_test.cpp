// Types of fields: how they are written in a signature, named in a prompt, and described by a schema.
#include "dspy/signature/field_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dspy/python/python_format.h"
#include "dspy/signature/example.h"
#include "dspy/signature/prediction.h"
#include "dspy/signature/signature.h"

namespace inferflux::dspy {
namespace {

using ::testing::HasSubstr;

// The type of `a` as a prompt names it, or the error.
std::string Named(const std::string& type) {
  const auto signature = Signature::Parse("q -> a: " + type);
  return signature ? NameOf(signature->outputs()[0].type) : signature.error().message;
}

TEST(TypesTest, AnnotationsArePythons) {
  for (const auto& [text, name] :
       {std::pair{"str", "str"},
        {"typing.Any", "Any"},
        {"Any", "Any"},
        {"None", "NoneType"},
        {"NoneType", "NoneType"},
        {"List", "list"},
        {"typing.List[int]", "list[int]"},
        {"Dict[str, float]", "dict[str, float]"},
        {"dict", "dict"},
        {"dspy.History", "History"},
        {"History", "History"},
        {"int|str | None", "Union[int, str, NoneType]"},
        {"Union[int, Union[str, int]]", "Union[int, str]"},
        {"Union[int, int]", "int"},
        {"Optional[Optional[int]]", "Union[int, NoneType]"},
        {"typing.Optional[bool]", "Union[bool, NoneType]"},
        {"Literal[ 'a' , 2,True, False, None, -3]", "Literal['a', 2, True, False, None, -3]"},
        {"Literal[\"it's\"]", "Literal[\"it's\"]"},
        {R"(Literal['it\'s "x"'])", R"(Literal['it\'s "x"'])"},
        {R"(Literal['a\\b'])", R"(Literal['a\b'])"}}) {
    EXPECT_EQ(Named(text), name) << text;
  }
}

TEST(TypesTest, WrongAnnotationsAreNamedWithTheirPlace) {
  const std::string known =
      "; there are str, int, float, bool, Literal, list, dict, Optional, Union, Any, None, History, and the enums and "
      "objects that the caller names at byte 8 of 'q -> a: ";
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"Optional[int, str]", "'Optional' does not take 2 arguments at byte 17 of 'q -> a: Optional[int, str]'"},
           {"dict[str]", "'dict' does not take 1 argument at byte 13 of 'q -> a: dict[str]'"},
           {"int[str]", "'int' does not take 1 argument at byte 12 of 'q -> a: int[str]'"},
           {"Union", "'Union' needs arguments in brackets at byte 13 of 'q -> a: Union'"},
           {"Optional", "'Optional' needs arguments in brackets at byte 16 of 'q -> a: Optional'"},
           {"Literal['a", "a text does not end at byte 16 of 'q -> a: Literal['a'"},
           {"Literal[", "a value is missing at byte 16 of 'q -> a: Literal['"},
           {"Literal['a'", "a ']' is missing at byte 19 of 'q -> a: Literal['a''"},
           {"strng", "the type 'strng' is not known; did you mean 'str'?" + known + "strng'"},
           {"typing.Zzzzzzzz", "the type 'Zzzzzzzz' is not known" + known + "typing.Zzzzzzzz'"}}) {
    EXPECT_EQ(Named(text), "the field 'a': " + message);
  }
  const auto nested = [](int depth) {
    std::string text = "int";
    for (int i = 0; i < depth; ++i) text = "list[" + text + "]";
    return Named(text);
  };
  EXPECT_THAT(nested(16), ::testing::StartsWith("list[list["));
  EXPECT_THAT(nested(17), HasSubstr("types are nested deeper than 16 at byte"));
}

// Names of types are Python's: letters, digits behind the first, and what is not ASCII but white space.
TEST(TypesTest, NamesOfTypesEndWhereTheyEnd) {
  const NamedTypes types = {{"_aZ09é", FieldType::Enum("E", {{"A", 1}})}, {"my.Type", FieldType::Int()}};
  const auto named = [&](const std::string& type) {
    const auto signature = Signature::Parse("q -> a: " + type, std::nullopt, types);
    return signature ? NameOf(signature->outputs()[0].type) : signature.error().message;
  };
  EXPECT_EQ(named("_aZ09é"), "E");
  EXPECT_EQ(named("my.Type"), "int");
  EXPECT_EQ(named("int\u2003|\u00A0str"), "Union[int, str]");
  EXPECT_THAT(named("9a"), ::testing::StartsWith("the field 'a': a type is missing at byte 8"));
  EXPECT_THAT(named("int\xFF"), ::testing::StartsWith("the field 'a': a ',' or '->' is missing at byte 11"));
  EXPECT_THAT(named("my.Typ"), ::testing::StartsWith("the field 'a': the type 'my.Typ' is not known"));
  EXPECT_THAT(named("Literal[-]"), ::testing::StartsWith("the field 'a': a Literal takes texts in quotes"));
  // A text that ends within a longer one.
  const std::string_view longer = "q -> a: Literal[12]";
  EXPECT_EQ(Signature::Parse(longer.substr(0, 17)).error().message,
            "the field 'a': a ']' is missing at byte 17 of 'q -> a: Literal[1'");
}

TEST(TypesTest, ASignaturesTextHas64KiBAtMost) {
  const std::string text = "q -> " + std::string(64 * 1024 - 5, 'a');
  EXPECT_TRUE(Signature::Parse(text));
  const auto refused = Signature::Parse(text + "a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the signature has 65537 bytes; at most 65536 are taken");
  EXPECT_EQ(refused.error().position, 0u);
  EXPECT_TRUE(Signature::Parse(" _q1 , -> a , ")) << "a comma may end a side";
  EXPECT_EQ(Signature::Parse("a: int, b -> c, d", "Do it.")->instructions(), "Do it.");
  EXPECT_EQ(Signature::Parse("q -> a -> b").error().message,
            "the signature 'q -> a -> b': '->' occurs twice at byte 7");
  EXPECT_EQ(Signature::Parse("q ->").error().message, "the signature 'q ->' has no output field after '->'");
}

TEST(TypesTest, SchemasAreAsPydanticWritesThem) {
  const auto schema = [](const FieldType& type) { return JsonDumps(SchemaOf(type)); };
  const FieldType color = FieldType::Enum("Color", {{"RED", "r"}, {"BLUE", "b"}});
  const FieldType point = FieldType::Object("P", {{"title", "P"}, {"type", "object"}, {"$defs", {{"N", true}}}});
  EXPECT_EQ(schema(FieldType::Any()), "{}");
  EXPECT_EQ(schema(FieldType::History()), R"({"type": "object"})");
  EXPECT_EQ(schema(FieldType::Literal({1})), R"({"type": "integer", "const": 1})");
  EXPECT_EQ(schema(FieldType::Literal({1, 2})), R"({"type": "integer", "enum": [1, 2]})");
  EXPECT_EQ(schema(FieldType::Literal({"a", "b"})), R"({"type": "string", "enum": ["a", "b"]})");
  EXPECT_EQ(schema(FieldType::Literal({true, false})), R"({"type": "boolean", "enum": [true, false]})");
  EXPECT_EQ(schema(FieldType::Literal({1.5, 2.5})), R"({"type": "number", "enum": [1.5, 2.5]})");
  EXPECT_EQ(schema(FieldType::Literal({nullptr, nullptr})), R"({"type": "null", "enum": [null, null]})");
  EXPECT_EQ(schema(FieldType::Literal({1, "a"})), R"({"enum": [1, "a"]})");
  EXPECT_EQ(schema(FieldType{.kind = FieldType::Kind::kList}), R"({"type": "array", "items": {}})");
  EXPECT_EQ(schema(FieldType{.kind = FieldType::Kind::kDict}), R"({"type": "object", "additionalProperties": true})");
  EXPECT_EQ(schema(FieldType::Dict(FieldType::Any())), R"({"type": "object", "additionalProperties": true})");
  EXPECT_EQ(schema(FieldType::Dict(FieldType::Int())),
            R"({"type": "object", "additionalProperties": {"type": "integer"}})");
  EXPECT_EQ(schema(FieldType::Optional(FieldType::Float())), R"({"anyOf": [{"type": "number"}, {"type": "null"}]})");
  EXPECT_EQ(schema(color), R"({"type": "string", "enum": ["r", "b"], "title": "Color"})");
  EXPECT_EQ(schema(FieldType::List(color)),
            R"({"type": "array", "$defs": {"Color": {"type": "string", "enum": ["r", "b"], "title": "Color"}}, )"
            R"("items": {"$ref": "#/$defs/Color"}})");
  EXPECT_EQ(schema(point), R"({"type": "object", "$defs": {"N": true}, "title": "P"})");
  EXPECT_EQ(schema(FieldType::List(point)),
            R"({"type": "array", "$defs": {"N": true, "P": {"type": "object", "title": "P"}}, )"
            R"("items": {"$ref": "#/$defs/P"}})");
}

TEST(TypesTest, ABuildersErrorsCountItsFields) {
  const auto said = [](const SignatureBuilder& builder) {
    const auto built = builder.Build();
    return built ? std::string() : built.error().message + fmt::format(" [{}]", built.error().position);
  };
  EXPECT_EQ(said(SignatureBuilder().Input("q").Output("two words")),
            "the field 'two words', number 2, needs a name of letters, digits and '_' [1]");
  EXPECT_EQ(said(SignatureBuilder().Input("q").Output("q")), "the field 'q', number 2, occurs twice [1]");
  EXPECT_EQ(said(SignatureBuilder().Output("a").Output("a")), "the field 'a', number 2, occurs twice [1]");
  EXPECT_EQ(said(SignatureBuilder().Output("a", FieldType::Literal({}))),
            "the field 'a', number 1, has a type without values [0]");
  EXPECT_EQ(said(SignatureBuilder().Output("a", FieldType::Enum("E", {}))),
            "the field 'a', number 1, has a type without values [0]");
  EXPECT_EQ(said(SignatureBuilder().Output("a", FieldType::List(FieldType::Object("P", {{"pattern", 1}})))),
            "the field 'a', number 1: the JSON schema at #: the keyword 'pattern' is not honoured; leave it out [0]");
  const FieldType same = FieldType::Object("P", {{"type", "object"}});
  EXPECT_EQ(said(SignatureBuilder().Input("a", same).Output("b", same)), "") << "one name for one type";
  const auto built = SignatureBuilder().Instruction("").Input("a").Input("b").Output("c").Output("d").Build();
  EXPECT_EQ(built->instructions(), "Given the fields `a`, `b`, produce the fields `c`, `d`.");
}

TEST(SignatureTest, ChangesReplaceFieldsAndKeepTheOthers) {
  const Signature signature = *Signature::Parse("a, b -> c, d");
  EXPECT_EQ(signature.WithInput({.name = "a"}).ToString(), "b, a -> c, d");
  EXPECT_EQ(signature.WithInput({.name = "c"}).ToString(), "a, b, c -> d");
  EXPECT_EQ(signature.WithOutput({.name = "b"}).ToString(), "a -> c, d, b");
  EXPECT_EQ(signature.WithOutputInFront({.name = "e"}).ToString(), "a, b -> e, c, d");
  EXPECT_EQ(signature.Without("d").ToString(), "a, b -> c");
  EXPECT_EQ(signature.WithoutOutputs().ToString(), "a, b -> ");
  EXPECT_EQ(signature.WithInstructions("  x\n    y").instructions(), "x\ny");
  EXPECT_EQ(signature.WithOutput({.name = "new_field"}).outputs()[2].prefix, "New Field:");
  EXPECT_EQ(signature.WithOutput({.name = "new_field"}).outputs()[2].desc, "${new_field}");
  EXPECT_EQ(signature.WithInput({.name = "x"}).inputs()[2].prefix, "X:");
  EXPECT_EQ(signature.WithOutputInFront({.name = "x"}).outputs()[0].desc, "${x}");
}

TEST(SignatureTest, EqualMeansEveryWordOfIt) {
  const auto make = [](std::string instructions, std::string name, std::string desc, std::string prefix) {
    return *SignatureBuilder()
                .Instruction(std::move(instructions))
                .Input(name, FieldType::Str(), desc, prefix)
                .Output("o" + name, FieldType::Str(), desc, prefix)
                .Build();
  };
  const Signature one = make("i", "n", "d", "p");
  EXPECT_TRUE(one.Equals(make("i", "n", "d", "p")));
  for (const Signature& other :
       {make("x", "n", "d", "p"), make("i", "x", "d", "p"), make("i", "n", "x", "p"), make("i", "n", "d", "x"),
        one.WithInput({.name = "more"}), one.WithOutput({.name = "more"})}) {
    EXPECT_FALSE(one.Equals(other)) << other.ToString();
  }
}

TEST(SignatureTest, AStateNamesWhatItLacks) {
  const Signature signature = *Signature::Parse("a -> c");
  const auto said = [&](void (*change)(boost::json::object&)) {
    boost::json::object state = signature.DumpState();
    change(state);
    const auto loaded = signature.LoadState(state);
    return loaded ? JsonDumps(loaded->DumpState()) : loaded.error().message;
  };
  const std::string needs = "the state of 'a -> c' needs \"instructions\", a text, and \"fields\", a list";
  EXPECT_EQ(said([](auto& s) { s.erase("instructions"); }), needs);
  EXPECT_EQ(said([](auto& s) { s["instructions"] = 1; }), needs);
  EXPECT_EQ(said([](auto& s) { s.erase("fields"); }), needs);
  EXPECT_EQ(said([](auto& s) { s["fields"] = 1; }), needs);
  EXPECT_EQ(said([](auto& s) { s["fields"].as_array().emplace_back(1); }),
            "the state has 3 fields, and 'a -> c' has 2");
  const std::string both = "the state of the field 'c' needs \"prefix\" and \"description\", both texts";
  EXPECT_EQ(said([](auto& s) { s["fields"].as_array()[1] = 1; }), both);
  EXPECT_EQ(said([](auto& s) { s["fields"].as_array()[1].as_object()["prefix"] = 1; }), both);
  EXPECT_EQ(said([](auto& s) { s["fields"].as_array()[1].as_object()["description"] = 1; }), both);
  EXPECT_EQ(said([](auto& s) {
              s = {{"instructions", "do"},
                   {"fields", {{{"prefix", "A"}, {"description", "x"}}, {{"prefix", "C"}, {"description", "y"}}}}};
            }),
            R"({"instructions": "do", "fields": [{"prefix": "A", "description": "x"}, )"
            R"({"prefix": "C", "description": "y"}]})");
}

TEST(ExampleTest, InputsAreTheNamedOnesAndLabelsTheOthers) {
  const Example example = Example({{"q", 1}, {"a", 2}, {"b", 3}}).WithInputs({"q", "b"});
  EXPECT_EQ(JsonDumps(example.inputs()), R"({"q": 1, "b": 3})");
  EXPECT_EQ(JsonDumps(example.labels()), R"({"a": 2})");
}

TEST(PredictionTest, EachTypeIsReadAsItselfOrRefused) {
  const Prediction prediction({{"t", "x"}, {"i", 2}, {"f", 2.5}, {"b", true}}, {});
  EXPECT_EQ(prediction.Text("t"), "x");
  EXPECT_EQ(prediction.Int("i"), 2);
  EXPECT_EQ(prediction.Float("i"), 2.0);
  EXPECT_EQ(prediction.Float("f"), 2.5);
  EXPECT_EQ(prediction.Bool("b"), true);
  EXPECT_EQ(prediction.Text("i").error().message, "the field 'i' is no text: 2");
  EXPECT_EQ(prediction.Int("f").error().message, "the field 'f' is no int: 2.5");
  EXPECT_EQ(prediction.Float("b").error().message, "the field 'b' is no float: True");
  EXPECT_EQ(prediction.Bool("t").error().message, "the field 't' is no bool: 'x'");
  for (const std::string& message : {prediction.Text("z").error().message, prediction.Int("z").error().message,
                                     prediction.Float("z").error().message, prediction.Bool("z").error().message}) {
    EXPECT_EQ(message, "the prediction has no field 'z'; it has: t, i, f, b");
  }
}

}  // namespace
}  // namespace inferflux::dspy
