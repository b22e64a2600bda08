#include "dspy/signature/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "dspy/signature/convert.h"

namespace inferflux::dspy {
namespace {

using ::testing::HasSubstr;

TEST(DspySignatureTest, ParsesFieldsAndTypes) {
  const auto signature = Signature::Parse("question, context: list[str] -> answer: Optional[int], why");
  ASSERT_TRUE(signature) << signature.error().message;
  EXPECT_EQ(signature->ToString(), "question, context -> answer, why");
  EXPECT_EQ(signature->instructions(), "Given the fields `question`, `context`, produce the fields `answer`, `why`.");
  EXPECT_EQ(NameOf(signature->inputs()[1].type), "list[str]");
  EXPECT_EQ(NameOf(signature->outputs()[0].type), "Union[int, NoneType]");
  EXPECT_EQ(signature->outputs()[0].prefix, "Answer:");
}

struct BadSignature {
  const char* text;
  const char* field;
  size_t position;
  const char* says;
};

TEST(DspySignatureTest, ErrorsNameFieldAndPosition) {
  for (const BadSignature& bad : {
           BadSignature{"question answer", "question", 9, "a ',' or '->' is missing"},
           {"question", "", 8, "'->' is missing"},
           {"q -> a -> b", "", 7, "'->' occurs twice"},
           {"q -> ", "", 4, "no output field"},
           {"q -> a: integer", "a", 8, "the type 'integer' is not known"},
           {"q -> a: flaot", "a", 8, "did you mean 'float'"},
           {"q -> a: list[int", "a", 16, "a ']' is missing"},
           {"q -> a: Literal", "a", 15, "needs arguments"},
           {"q -> a: Literal[x]", "a", 16, "texts in quotes"},
           {"q -> a: dict[int, str]", "a", 13, "keys of a dict must be str"},
           {"q -> a: list[int, str]", "a", 13, "does not take 2 arguments"},
           {"q, 2b -> a", "", 3, "must begin with a letter"},
           {"q, q -> a", "q", 3, "occurs twice"},
           {"q -> a, q", "q", 8, "occurs twice"},
           {"q: -> a", "q", 3, "a type is missing"},
       }) {
    const auto signature = Signature::Parse(bad.text);
    ASSERT_FALSE(signature) << bad.text;
    EXPECT_EQ(signature.error().code, ErrorCode::kInvalidConfig);
    EXPECT_EQ(signature.error().field, bad.field) << bad.text;
    EXPECT_EQ(signature.error().position, bad.position) << bad.text << ": " << signature.error().message;
    EXPECT_THAT(signature.error().message, HasSubstr(bad.says));
  }
  std::string deep = "q -> a: ";
  for (int i = 0; i < 50; ++i) deep += "list[";
  EXPECT_THAT(Signature::Parse(deep).error().message, HasSubstr("nested deeper"));
}

TEST(DspySignatureTest, BuilderChecksNamesAndSchemas) {
  const auto twice = SignatureBuilder().Input("a").Output("a").Build();
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().field, "a");
  EXPECT_EQ(twice.error().position, 1u);
  EXPECT_FALSE(SignatureBuilder().Output("two words").Build());
  EXPECT_FALSE(SignatureBuilder().Output("").Build());
  const auto keyword =
      SignatureBuilder().Output("p", FieldType::Object("P", {{"type", "object"}, {"patternProperties", 1}})).Build();
  ASSERT_FALSE(keyword);
  EXPECT_THAT(keyword.error().message, HasSubstr("'patternProperties' is not honoured"));
  EXPECT_FALSE(SignatureBuilder().Output("p", FieldType::Literal({})).Build());
  const auto clash = SignatureBuilder()
                         .Input("one", FieldType::Object("P", {{"type", "object"}}))
                         .Output("two", FieldType::List(FieldType::Object("P", {{"type", "string"}})))
                         .Build();
  ASSERT_FALSE(clash);
  EXPECT_THAT(clash.error().message, HasSubstr("the field 'two', number 2: 'P' is the name of two types"));
}

// Any text gives a signature or an error with a message and a position within it.
TEST(DspySignatureTest, AnyTextIsParsedOrRefused) {
  static const char* const kParts[] = {"a",   "b2",    "ü",        "_",   " ", ",",    ":",         "->",
                                       "int", "list[", "Literal[", "'x'", "]", "|",    "dict[str,", "None",
                                       "\"",  "\\",    "1",        "-",   ".", "\xC3", "Optional[", "\n"};
  std::mt19937 random(7);
  size_t good = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) text += kParts[random() % std::size(kParts)];
    const auto signature = Signature::Parse(text);
    if (signature) {
      EXPECT_FALSE(signature->outputs().empty());
      ++good;
    } else {
      EXPECT_FALSE(signature.error().message.empty());
      EXPECT_LE(signature.error().position, text.size()) << text;
    }
  }
  EXPECT_GT(good, 20u);
}

TEST(DspyConvertTest, ErrorsSayFieldTypeAndText) {
  const auto signature = Signature::Parse("q -> n: int, c: Literal['a', 'b'], l: list[float]");
  for (const auto& [name, text] : {std::pair("n", "four"), {"c", "d"}, {"l", "[1, \"x\"]"}, {"l", "3"}}) {
    const Field& field = *signature->FindOutput(name);
    const auto value = ConvertText(field, text);
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().code, ErrorCode::kParseFailed);
    EXPECT_EQ(value.error().field, name);
    EXPECT_THAT(value.error().message, HasSubstr(NameOf(field.type)));
    EXPECT_THAT(value.error().message, HasSubstr(text));
  }
}

TEST(DspyConvertTest, ObjectsAreCheckedBySchema) {
  const boost::json::object schema = {{"type", "object"},
                                      {"required", {"age", "name"}},
                                      {"additionalProperties", false},
                                      {"properties",
                                       {{"name", {{"type", "string"}, {"minLength", 1}, {"maxLength", 3}}},
                                        {"age", {{"type", "integer"}, {"minimum", 0}}},
                                        {"kind", {{"enum", {"x", "y"}}, {"default", "x"}}}}}};
  const auto signature = SignatureBuilder().Output("p", FieldType::Object("P", schema)).Build();
  ASSERT_TRUE(signature) << signature.error().message;
  const Field& field = signature->outputs()[0];
  const auto good = ConvertText(field, R"({"name": "äöü", "age": 4.0})");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->at("age").as_int64(), 4);
  EXPECT_EQ(good->at("kind").as_string(), "x");
  for (const auto& [text, says] : {std::pair(R"({"name": "x"})", "'age' is missing"),
                                   {R"({"name": "x", "age": -1})", "at $.age: minimum is 0"},
                                   {R"({"name": "", "age": 1})", "minLength"},
                                   {R"({"name": "long", "age": 1})", "maxLength"},
                                   {R"({"name": "x", "age": 1, "z": 1})", "at $.z: not expected"},
                                   {R"({"name": "x", "age": "1"})", "type integer"},
                                   {R"({"name": "x", "age": 1, "kind": "z"})", "must be one of"},
                                   {"[]", "type object"}}) {
    const auto value = ConvertText(field, text);
    ASSERT_FALSE(value) << text;
    EXPECT_THAT(value.error().message, HasSubstr(says));
  }
}

TEST(DspyConvertTest, InputsMustBeOfTheirTypes) {
  const auto signature = Signature::Parse("t, n: int, x: float, l: list[int], o: Optional[str], h: History -> a");
  const auto check = [&](const char* name, boost::json::value value) {
    return CheckInput(*signature->FindInput(name), value).has_value();
  };
  EXPECT_TRUE(check("t", "x") && check("t", boost::json::array{"a", "b"}) && check("n", 3) && check("x", 3) &&
              check("x", 2.5) && check("l", boost::json::array{1}) && check("o", nullptr) && check("o", "x"));
  EXPECT_TRUE(check("h", {{"messages", boost::json::array{{{"t", "x"}}}}}));
  EXPECT_FALSE(check("h", boost::json::object()) || check("h", {{"messages", {1}}}));
  EXPECT_FALSE(check("t", 3) || check("t", boost::json::array{1}) || check("n", 2.0) || check("n", "3") ||
               check("n", true) || check("l", boost::json::array{"1"}) || check("o", 1));
}

}  // namespace
}  // namespace inferflux::dspy
