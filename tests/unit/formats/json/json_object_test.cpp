// JSON as Python writes it, and which numbers are whole.
#include "formats/json/json_object.h"

#include <gtest/gtest.h>

namespace inferflux::formats {
namespace {

std::string Reread(const std::string& text) {
  const auto value = ParseJson(text, "j");
  return value ? boost::json::serialize(*value) : value.error().message;
}

TEST(Json, PythonsNumbersThatAreNoneAreLeftOut) {
  EXPECT_EQ(Reread(R"({"a":NaN,"b":[Infinity,-Infinity,1]})"), R"({"a":null,"b":[null,null,1]})");
  EXPECT_EQ(Reread(R"({"a":Infinity,"b":"Infinity \" NaN","NaN":2})"), R"({"a":null,"b":"Infinity \" NaN","NaN":2})");
  EXPECT_EQ(Reread(R"(["\\",NaN,"\\\"NaN"])"), R"(["\\",null,"\\\"NaN"])");
  EXPECT_EQ(Reread(R"(["-Infinity"])"), R"(["-Infinity"])");
  EXPECT_EQ(Reread(R"({"a":NaN)").substr(0, 19), "j: not valid JSON: ");
  EXPECT_EQ(Reread(R"({"a":nan})").substr(0, 19), "j: not valid JSON: ");
  EXPECT_EQ(Reread(R"(["NaN\)").substr(0, 19), "j: not valid JSON: ");
}

template <class T>
std::string As(const std::string& text) {
  const auto value = JsonAs<T>(*ParseJson(text, "j"), "x");
  return value ? fmt::format("{}", *value) : value.error().message;
}

TEST(Json, WholeNumbersAreThoseThatFit) {
  const std::string range = "x is not a whole number in range";
  EXPECT_EQ(As<int32_t>("2147483647"), "2147483647");
  EXPECT_EQ(As<int32_t>("2147483648"), range);
  EXPECT_EQ(As<int32_t>("-2147483648"), "-2147483648");
  EXPECT_EQ(As<int32_t>("-2147483649"), range);
  EXPECT_EQ(As<uint32_t>("4294967295"), "4294967295");
  EXPECT_EQ(As<uint32_t>("-1"), range);
  EXPECT_EQ(As<uint64_t>("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(As<int64_t>("18446744073709551615"), range);
  EXPECT_EQ(As<int64_t>("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(As<int64_t>("5.0"), "5");
  EXPECT_EQ(As<int64_t>("5.5"), range);
  EXPECT_EQ(As<int64_t>("9007199254740992.0"), "9007199254740992");
  EXPECT_EQ(As<int64_t>("-9007199254740992.0"), "-9007199254740992");
  EXPECT_EQ(As<int64_t>("9007199254740994.0"), range);
  EXPECT_EQ(As<int32_t>("4e9"), range);
  EXPECT_EQ(As<uint32_t>("-2.0"), range);
  EXPECT_EQ(As<int32_t>("\"5\""), "x should be a whole number, but is a string");
  EXPECT_EQ(As<int32_t>("null"), "x should be a whole number, but is null");
}

TEST(Json, KindsAreNamed) {
  EXPECT_EQ(As<double>("true"), "x should be a number, but is true or false");
  EXPECT_EQ(As<double>("7"), "7");
  EXPECT_EQ(As<bool>("[]"), "x should be true or false, but is a list");
  EXPECT_EQ(As<std::string>("{}"), "x should be a string, but is an object");
  EXPECT_EQ(As<std::string>("1"), "x should be a string, but is a number");
  const auto list = JsonAs<std::vector<int32_t>>(*ParseJson("[1,\"a\"]", "j"), "x");
  EXPECT_EQ(list.error().message, "x[1] should be a whole number, but is a string");
  EXPECT_EQ(JsonAs<std::vector<int32_t>>(*ParseJson("3", "j"), "x").error().message,
            "x should be a list, but is a number");
  EXPECT_EQ(JsonObject::Parse("[]", "j").error().message, "j: it should hold an object, but holds a list");
  const auto object = JsonObject::Parse(R"({"a":null,"b":{"c":5},"d":2})", "j");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->FindValue("a"), nullptr);
  EXPECT_EQ(object->Get<int32_t>("a").error().message, "j: 'a' is missing");
  EXPECT_EQ(object->GetOr<int32_t>("a", 9), 9);
  EXPECT_EQ(object->Get<JsonObject>("b")->Get<int32_t>("c"), 5);
  EXPECT_EQ(object->Get<JsonObject>("b")->Get<bool>("c").error().message,
            "j: b: c should be true or false, but is a number");
  EXPECT_EQ(object->Find<JsonObject>("d").error().message, "j: d should be an object, but is a number");
}

}  // namespace
}  // namespace inferflux::formats
