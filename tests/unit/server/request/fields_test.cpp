// The fields of requests: types and bounds, queries, deadlines, bodies, and the shape of each error.
#include "server/request/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "server/reply/page_query.h"
#include "server/request/api_error.h"
#include "server/request/json_body.h"
#include "server/request/request_deadline.h"
#include "server/request/sampling_fields.h"

namespace inferflux::server {
namespace {

using ::testing::StartsWith;

template <class T>
std::string Text(const ApiResult<T>& read) {
  if (!read) return read.error().param + "/" + read.error().code + ": " + read.error().message;
  if constexpr (std::is_void_v<T>) {
    return "taken";
  } else {
    return fmt::format("{}", *read);
  }
}

TEST(Fields, NumbersHaveBoundsThatCount) {
  const auto number = [](const char* json) { return Text(ReadNumber(boost::json::parse(json), "p", -0.5, 2)); };
  EXPECT_EQ(number("-0.5"), "-0.5");
  EXPECT_EQ(number("2"), "2");
  EXPECT_EQ(number("2.01"), "p/invalid_value: 'p' must be from -0.5 to 2, but is 2.01");
  EXPECT_EQ(number("-0.51"), "p/invalid_value: 'p' must be from -0.5 to 2, but is -0.51");
  EXPECT_EQ(number("\"1\""), "p/invalid_type: 'p' must be a number, but is a string");
  const auto integer = [](const char* json) { return Text(ReadInteger(boost::json::parse(json), "p", -1, 3)); };
  EXPECT_EQ(integer("-1"), "-1");
  EXPECT_EQ(integer("3"), "3");
  EXPECT_EQ(integer("2.0"), "2");
  EXPECT_EQ(integer("4"), "p/invalid_value: 'p' must be from -1 to 3, but is 4");
  EXPECT_EQ(integer("-2"), "p/invalid_value: 'p' must be from -1 to 3, but is -2");
  EXPECT_EQ(integer("1.5"), "p/invalid_type: 'p' must be an integer, but is a number");
  EXPECT_EQ(integer("18446744073709551615"), "p/invalid_value: 'p' must be from -1 to 3, but is 18446744073709551615");
  EXPECT_EQ(integer("1e300"), "p/invalid_value: 'p' must be from -1 to 3, but is 1E300");
  EXPECT_EQ(integer("null"), "p/invalid_type: 'p' must be an integer, but is null");
}

TEST(Fields, OtherTypesAreNamed) {
  EXPECT_EQ(Text(ReadBoolean(true, "p")), "true");
  EXPECT_EQ(Text(ReadBoolean(1, "p")), "p/invalid_type: 'p' must be a boolean, but is an integer");
  EXPECT_EQ(Text(ReadText("abc", "p", 3)), "abc");
  EXPECT_EQ(Text(ReadText("abcd", "p", 3)), "p/invalid_value: 'p' must be of at most 3 bytes, but has 4");
  EXPECT_EQ(Text(ReadText(boost::json::array(), "p", 3)), "p/invalid_type: 'p' must be a string, but is an array");
  EXPECT_EQ((*ReadObject(boost::json::object{{"a", 1}}, "p"))->size(), 1u);
  EXPECT_EQ(ReadObject(1.5, "p").error().message, "'p' must be an object, but is a number");
  EXPECT_EQ((*ReadArray({1, 2}, "p", 2))->size(), 2u);
  EXPECT_EQ(ReadArray({1, 2, 3}, "p", 2).error().message, "'p' must have at most 2 items, but has 3");
  EXPECT_EQ(ReadArray(boost::json::object(), "p", 2).error().message, "'p' must be an array, but is an object");
  EXPECT_EQ(ReadArray(false, "p", 2).error().message, "'p' must be an array, but is a boolean");
}

TEST(Fields, WhatHasNoEffectIsCheckedAllTheSame) {
  EXPECT_EQ(Text(ReadNoOp(1, "p", "1")), "taken");
  EXPECT_EQ(Text(ReadNoOp(2, "p", "1")), "p/unsupported_parameter: 'p' is not supported except as 1");
  EXPECT_EQ(Text(ReadNoOp(1, "p", "")), "p/unsupported_parameter: 'p' is not supported; leave it out");
  using Type = IgnoredField::Type;
  const std::vector<std::pair<Type, const char*>> types = {
      {Type::kBoolean, "true"}, {Type::kNumber, "1"}, {Type::kText, "\"a\""}, {Type::kObject, "{}"}};
  for (const auto& [type, own] : types) {
    for (const auto& [other, value] : types)
      EXPECT_EQ(ReadIgnored(boost::json::parse(value), "p", type).has_value(), type == other) << value;
  }
  EXPECT_EQ(Text(ReadIgnored("a", "p", Type::kObject)), "p/invalid_type: 'p' must be an object, but is a string");
}

TEST(Fields, NamesAreJoinedAndNumbered) {
  EXPECT_EQ(Join("", "a"), "a");
  EXPECT_EQ(Join("a", "b"), "a.b");
  EXPECT_EQ(EntryName("a", 0, 1), "a");
  EXPECT_EQ(EntryName("a", 1, 2), "a[1]");
  const auto unknown = RefuseUnknown("a.temprature", {"temperature"});
  EXPECT_EQ(unknown.value().code, "unknown_parameter");
  EXPECT_THAT(unknown.value().message, StartsWith("Unrecognized request argument supplied: a.temprature"));
  EXPECT_THAT(unknown.value().message, ::testing::HasSubstr("temperature"));
}

TEST(Fields, SamplingFieldsHaveTheirTypes) {
  const auto read = [](const char* name, const char* json) {
    serving::SamplingSpec spec;
    const auto taken = ParseSamplingField(name, name, boost::json::parse(json), spec);
    if (!taken) return taken.error().param + ": " + taken.error().message;
    return std::string(*taken ? "taken" : "unknown") +
           (spec.given.empty() ? "" : " " + std::string(spec.given.front()));
  };
  EXPECT_EQ(read("temperature", "2"), "taken temperature");
  EXPECT_EQ(read("temperature", "null"), "taken");
  EXPECT_EQ(read("temprature", "1"), "unknown");
  EXPECT_EQ(read("mirostat", "0"), "taken mirostat");
  EXPECT_EQ(read("mirostat", "1"), "mirostat: 'mirostat' must be 0 (off) or 2; version 1 is not supported");
  EXPECT_EQ(read("mirostat", "3"), "mirostat: 'mirostat' must be from 0 to 2, but is 3");
  EXPECT_EQ(read("seed", "-9223372036854775808"), "taken seed");
  EXPECT_EQ(read("logit_bias", R"({"0":100,"7":-100})"), "taken logit_bias");
  EXPECT_EQ(read("logit_bias", R"({"-1":1})"), "logit_bias.-1: 'logit_bias.-1' is not a token id");
  EXPECT_EQ(read("logit_bias", R"({"1x":1})"), "logit_bias.1x: 'logit_bias.1x' is not a token id");
  EXPECT_EQ(read("logit_bias", R"({"":1})"), "logit_bias.: 'logit_bias.' is not a token id");
  EXPECT_EQ(read("logit_bias", R"({"1":101})"), "logit_bias.1: 'logit_bias.1' must be from -100 to 100, but is 101");
  EXPECT_EQ(read("dry_sequence_breakers", R"(["a",""])"),
            "dry_sequence_breakers[1]: 'dry_sequence_breakers[1]' must not be empty");
  std::string biases = "{", breakers = "[";
  for (int i = 0; i < 1024; ++i) biases += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  for (int i = 0; i < 32; ++i) breakers += i > 0 ? ",\"a\"" : "\"a\"";
  EXPECT_EQ(read("logit_bias", (biases + "}").c_str()), "taken logit_bias");
  EXPECT_EQ(read("logit_bias", (biases + ",\"1024\":1}").c_str()),
            "logit_bias: 'logit_bias' must have at most 1024 entries");
  EXPECT_EQ(read("dry_sequence_breakers", (breakers + "]").c_str()), "taken dry_sequence_breakers");
  EXPECT_EQ(read("dry_sequence_breakers", (breakers + ",\"a\"]").c_str()),
            "dry_sequence_breakers: 'dry_sequence_breakers' must have at most 32 items, but has 33");
}

TEST(PageQuery, HasALimitAPlaceAndAnOrder) {
  const auto read = [](std::map<std::string, std::string> query) {
    net::Request request;
    request.query = std::move(query);
    const auto page = ReadPageQuery(request, 20, 100);
    if (!page) return page.error().param + ": " + page.error().message;
    return std::to_string(page->limit) + " '" + page->after + "'" + (page->newest_first ? " newest" : " oldest");
  };
  EXPECT_EQ(read({}), "20 '' newest");
  EXPECT_EQ(read({{"limit", "1"}, {"after", "x"}, {"order", "desc"}}), "1 'x' newest");
  EXPECT_EQ(read({{"limit", "100"}, {"order", "asc"}}), "100 '' oldest");
  for (const char* wrong : {"0", "101", "x", "5x", "-1"})
    EXPECT_EQ(read({{"limit", wrong}}), "limit: 'limit' must be an integer from 1 to 100");
  EXPECT_EQ(read({{"order", "up"}}), "order: 'order' must be \"asc\" or \"desc\"");
}

TEST(RequestDeadline, IsTheEarlierOfTheServersAndTheClients) {
  const auto seconds = [](const char* header, int most) {
    net::Request request;
    if (header != nullptr) request.headers = {{"X-Request-Timeout", header}};
    const auto now = std::chrono::steady_clock::now();
    const auto deadline = DeadlineOf(request, std::chrono::seconds(most));
    if (!deadline) return deadline.error().message;
    if (!*deadline) return std::string("none");
    return std::to_string(std::chrono::round<std::chrono::seconds>(**deadline - now).count());
  };
  EXPECT_EQ(seconds(nullptr, 0), "none");
  EXPECT_EQ(seconds(nullptr, 50), "50");
  EXPECT_EQ(seconds("20", 0), "20");
  EXPECT_EQ(seconds("20", 50), "20");
  EXPECT_EQ(seconds("70", 50), "50");
  EXPECT_EQ(seconds("86400", 0), "86400");
  EXPECT_EQ(seconds("0.001", 0), "0");
  for (const char* wrong : {"86400.1", "0.0009", "0", "-1", "5s", "x", "nan"}) {
    EXPECT_EQ(seconds(wrong, 0), "the header X-Request-Timeout must be a number of seconds from 0.001 to 86400")
        << wrong;
  }
  const Deadline early = std::chrono::steady_clock::now(), late = *early + std::chrono::seconds(1);
  EXPECT_EQ(Earlier(early, late), early);
  EXPECT_EQ(Earlier(late, early), early);
  EXPECT_EQ(Earlier(late, std::nullopt), late);
  EXPECT_EQ(Earlier(std::nullopt, late), late);
  EXPECT_EQ(Earlier(std::nullopt, std::nullopt), std::nullopt);
}

TEST(JsonBody, IsOneObject) {
  const auto message = [](std::string_view body) {
    const auto read = ParseJsonBody(body);
    if (read) return std::string("read");
    EXPECT_EQ(read.error().code, "invalid_json");
    return read.error().message;
  };
  EXPECT_EQ(message("{}"), "read");
  EXPECT_EQ(message(" {\"a\":1} \n"), "read");
  EXPECT_EQ(message(""), "the request has no body; a JSON object is needed");
  EXPECT_EQ(message("[]"), "the body must be a JSON object");
  EXPECT_THAT(message("{\"a\":"), StartsWith("the body is not valid JSON: incomplete JSON near byte "));
  EXPECT_EQ(message("{\"a\":1,\"a\":2}"), "the JSON has the name \"a\" twice in one object");
}

TEST(JsonBody, SaysThatSomethingComesBehindIt) {
  EXPECT_EQ(ParseJsonBody("{} x").error().message, "the body is not valid JSON: extra data near byte 3");
}

TEST(ApiError, EachErrorHasItsStatusAndItsShape) {
  const auto text = [](const ApiError& error) { return std::to_string(error.status) + " " + ErrorJson(error); };
  const auto of = [&](ErrorCode code) { return text(FromError({code, "m"}, "p")); };
  const std::string request = R"({"error":{"message":"m","type":"invalid_request_error","param":"p","code":)";
  EXPECT_EQ(of(ErrorCode::kInvalidArgument), "400 " + request + R"("invalid_value"}})");
  EXPECT_EQ(of(ErrorCode::kUnsupported), "400 " + request + R"("invalid_value"}})");
  EXPECT_EQ(of(ErrorCode::kNotFound), "404 " + request + R"("not_found"}})");
  EXPECT_EQ(of(ErrorCode::kResourceExhausted),
            R"(429 {"error":{"message":"m","type":"rate_limit_error","param":null,"code":"overloaded"}})");
  const std::string unavailable =
      R"(503 {"error":{"message":"m","type":"service_unavailable_error","param":null,"code":"unavailable"}})";
  EXPECT_EQ(of(ErrorCode::kUnavailable), unavailable);
  EXPECT_EQ(of(ErrorCode::kCancelled), unavailable);
  const std::string server =
      R"(500 {"error":{"message":"m","type":"server_error","param":null,"code":"internal_error"}})";
  for (const ErrorCode code : {ErrorCode::kDataLoss, ErrorCode::kIo, ErrorCode::kInternal}) EXPECT_EQ(of(code), server);
  EXPECT_EQ(text(FromStatus(503, "m")), unavailable);
  EXPECT_EQ(text(FromStatus(500, "m")), server);
  EXPECT_EQ(text(FromStatus(404, "m")),
            R"(404 {"error":{"message":"m","type":"invalid_request_error","param":null,"code":"unknown_url"}})");
  EXPECT_EQ(text(FromStatus(499, "m")),
            R"(499 {"error":{"message":"m","type":"invalid_request_error","param":null,"code":null}})");
  using Kind = serving::GenerationError::Kind;
  const auto generation = [](Kind kind) {
    const ApiError error = FromGeneration({.kind = kind, .message = "m"}, "p");
    return std::to_string(error.status) + " " + error.param + " " + error.code + " " + error.message;
  };
  EXPECT_EQ(generation(Kind::kInvalid), "400 p invalid_value 'p' m");
  EXPECT_EQ(generation(Kind::kUnsupported), "400 p unsupported_parameter 'p' m");
  EXPECT_EQ(generation(Kind::kTemplate), "400 p invalid_value m");
  EXPECT_EQ(generation(Kind::kNoChatTemplate), "400 p no_chat_template m");
  EXPECT_EQ(generation(Kind::kContextLength), "400 p context_length_exceeded m");
}

TEST(ApiError, SomeAnswersSayWhatToDo) {
  const auto headers = [](int status) {
    ApiError error = FromStatus(status, "why");
    error.retry_after = 7;
    const net::Response response = ErrorResponse(error);
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(response.reason, "why");
    EXPECT_EQ(response.content_type, "application/json");
    std::string out;
    for (const auto& header : response.headers) out += header.name + "=" + header.value + ";";
    return out;
  };
  EXPECT_EQ(headers(503), "Retry-After=7;");
  EXPECT_EQ(headers(429), "Retry-After=7;");
  EXPECT_EQ(headers(401), "WWW-Authenticate=Bearer;");
  EXPECT_EQ(headers(400), "");
}

}  // namespace
}  // namespace inferflux::server
