#include "server/openai/fields/generation_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/openai/completion_request.h"
#include "server/request/json_body.h"
#include "server/request/request_testing.h"

namespace inferflux::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string VerdictOnField(std::string_view field, std::string_view value) {
  return Verdict(ParseCompletionRequest, fmt::format(R"({{"prompt":"x","{}":{}}})", field, value));
}

GenerationFields Parse(std::string_view fields) {
  const auto request = ParseCompletionRequest(*ParseJsonBody(fmt::format(R"({{"prompt":"x",{}}})", fields)));
  EXPECT_TRUE(request.has_value()) << fields << ": " << (request ? "" : request.error().message);
  return request ? *request : CompletionRequest();
}

struct Range {
  const char* field;
  const char* low;
  const char* high;
  const char* below;
  const char* above;
};
constexpr Range kRanges[] = {{"temperature", "0", "2", "-0.01", "2.01"},
                             {"top_p", "0", "1", "-0.1", "1.1"},
                             {"top_k", "-1", "16777216", "-2", "16777217"},
                             {"min_p", "0", "1", "-0.1", "1.1"},
                             {"typical_p", "0", "1", "-0.1", "1.1"},
                             {"top_n_sigma", "0", "100", "-0.1", "101"},
                             {"xtc_probability", "0", "1", "-0.1", "1.1"},
                             {"xtc_threshold", "0", "0.5", "-0.1", "0.6"},
                             {"dry_multiplier", "0", "100", "-0.1", "101"},
                             {"dry_base", "1", "4", "0.9", "4.1"},
                             {"dry_allowed_length", "0", "1024", "-1", "1025"},
                             {"dry_penalty_last_n", "-1", "16777216", "-2", "16777217"},
                             {"dry_sequence_breakers", R"(["a"])", R"(["a","b"])", "[\"\"]", "[5]"},
                             {"mirostat", "0", "2", "-1", "3"},
                             {"mirostat_tau", "0", "100", "-1", "101"},
                             {"mirostat_eta", "0", "1", "-0.1", "1.1"},
                             {"repetition_penalty", "0.01", "10", "0", "10.1"},
                             {"presence_penalty", "-2", "2", "-2.1", "2.1"},
                             {"frequency_penalty", "-2", "2", "-2.1", "2.1"},
                             {"logit_bias", R"({"1":-100})", R"({"1":100})", R"({"1":-101})", R"({"1":101})"},
                             {"max_tokens", "-1", "9223372036854775807", "0", "-2"},
                             {"n", "1", "128", "0", "129"},
                             {"logprobs", "0", "5", "-1", "6"},
                             {"seed", "-9223372036854775808", "9223372036854775807", "-1e30", "9223372036854775808"}};

TEST(GenerationFieldsTest, TheEndsOfEveryRangeAreTakenAndWhatLiesBeyondIsNamed) {
  for (const Range& range : kRanges) {
    EXPECT_EQ(VerdictOnField(range.field, range.low), "ok") << range.field;
    EXPECT_EQ(VerdictOnField(range.field, range.high), "ok") << range.field;
    EXPECT_THAT(VerdictOnField(range.field, range.below), StartsWith(range.field)) << range.below;
    EXPECT_THAT(VerdictOnField(range.field, range.above), StartsWith(range.field)) << range.above;
  }
}

TEST(GenerationFieldsTest, EverySamplingParameterIsAFieldWithATestedRange) {
  for (const serving::SamplingRow& row : serving::SamplingTable()) {
    EXPECT_TRUE(std::ranges::any_of(kRanges, [&](const Range& range) { return range.field == row.name; })) << row.name;
    EXPECT_EQ(VerdictOnField(row.name, "null"), "ok") << row.name;
  }
}

TEST(GenerationFieldsTest, WrongTypesAreNamed) {
  for (const auto& [field, value] : {std::pair{"temperature", "\"1\""},
                                     {"top_k", "1.5"},
                                     {"stream", "1"},
                                     {"stream", "\"true\""},
                                     {"model", "7"},
                                     {"max_tokens", "\"5\""},
                                     {"n", "[1]"},
                                     {"stop", "5"},
                                     {"stop", "[1]"},
                                     {"seed", "0.5"},
                                     {"logit_bias", "[]"},
                                     {"user", "{}"},
                                     {"ignore_eos", "0"},
                                     {"stream_options", "true"},
                                     {"logit_bias", "{\"5\":\"x\"}"}}) {
    EXPECT_THAT(VerdictOnField(field, value), StartsWith(field)) << value;
  }
}

TEST(GenerationFieldsTest, NullMeansAbsent) {
  for (const char* field : {"model", "temperature", "top_p", "n", "stop", "stream", "stream_options", "seed",
                            "logit_bias", "logprobs", "max_tokens", "user", "echo", "suffix", "best_of"}) {
    EXPECT_EQ(VerdictOnField(field, "null"), "ok") << field;
  }
  EXPECT_EQ(Parse(R"("temperature":null)").sampling.params.temperature, 1.0f);
}

TEST(GenerationFieldsTest, UnknownFieldsAreNamed) {
  EXPECT_EQ(VerdictOnField("temprature", "1"),
            "temprature: Unrecognized request argument supplied: temprature; did you mean 'temperature'?");
  EXPECT_EQ(VerdictOnField("unheardof", "null"), "unheardof: Unrecognized request argument supplied: unheardof");
  EXPECT_THAT(VerdictOnField("stream_options", R"({"include_usge":true})"),
              StartsWith("stream_options.include_usge: "));
}

TEST(GenerationFieldsTest, StopIsOneStringOrAListOfThem) {
  EXPECT_EQ(Parse(R"("stop":"a")").stop, std::vector<std::string>{"a"});
  EXPECT_EQ(Parse(R"("stop":["a","b","c","d"])").stop.size(), 4u);
  std::string many = R"("a")";
  for (int i = 1; i < 64; ++i) many += R"(,"a")";
  EXPECT_EQ(VerdictOnField("stop", "[" + many + "]"), "ok");
  EXPECT_THAT(VerdictOnField("stop", "[" + many + R"(,"a"])"), HasSubstr("at most 64"));
  EXPECT_EQ(Parse(R"("stop":["a",""])").stop, std::vector<std::string>{"a"}) << "an empty one stops nothing";
  EXPECT_TRUE(Parse(R"("stop":"")").stop.empty());
}

TEST(GenerationFieldsTest, StreamOptionsNeedAStream) {
  EXPECT_THAT(VerdictOnField("stream_options", R"({"include_usage":true})"), StartsWith("stream_options: "));
  EXPECT_TRUE(Parse(R"("stream":true,"stream_options":{"include_usage":true})").include_usage);
}

TEST(GenerationFieldsTest, LogitBiasIsAnObjectFromTokenIds) {
  EXPECT_EQ(Parse(R"("logit_bias":{"5":-100,"7":1.5})").sampling.params.logit_bias,
            (std::vector<std::pair<TokenId, float>>{{5, -100.0f}, {7, 1.5f}}));
  EXPECT_THAT(VerdictOnField("logit_bias", R"({"5":101})"), StartsWith("logit_bias.5: "));
  EXPECT_THAT(VerdictOnField("logit_bias", R"({"-5":1})"), StartsWith("logit_bias.-5: "));
  EXPECT_THAT(VerdictOnField("logit_bias", R"({"x":1})"), StartsWith("logit_bias.x: "));
}

TEST(GenerationFieldsTest, ALowerPriorityIsServedEarlierAndATimeoutIsInSeconds) {
  const GenerationFields fields = Parse(R"("priority":-3,"timeout":2.5)");
  EXPECT_EQ(fields.priority, 3) << "the scheduler serves the higher one first";
  EXPECT_EQ(fields.timeout, 2.5f);
  EXPECT_EQ(GenerationFields().priority, 0);
  EXPECT_EQ(GenerationFields().timeout, 0);
  EXPECT_THAT(VerdictOnField("timeout", "0"), StartsWith("timeout: "));
  EXPECT_THAT(VerdictOnField("priority", "1.5"), StartsWith("priority: "));
}

TEST(GenerationFieldsTest, WhatMirostatReplacesIsRefusedBesideIt) {
  EXPECT_EQ(VerdictOnField("mirostat", "1"), "mirostat: 'mirostat' must be 0 (off) or 2; version 1 is not supported");
  for (const char* filter :
       {R"("top_k":5)", R"("top_p":0.9)", R"("min_p":0.1)", R"("typical_p":0.9)", R"("xtc_probability":0.5)"}) {
    EXPECT_THAT(VerdictOnField("mirostat", std::string("2,") + filter), HasSubstr("has no effect beside 'mirostat'"));
    EXPECT_EQ(VerdictOnField("mirostat", std::string("0,") + filter), "ok");
  }
  EXPECT_EQ(VerdictOnField("mirostat", R"(2,"top_k":0,"top_p":1,"temperature":0.7)"), "ok");
}

TEST(GenerationFieldsTest, DryBreakersAreNonEmptyStrings) {
  EXPECT_EQ(Parse(R"("dry_sequence_breakers":["x:"])").sampling.dry_sequence_breakers, std::vector<std::string>{"x:"});
  EXPECT_THAT(VerdictOnField("dry_sequence_breakers", R"(["a",""])"), StartsWith("dry_sequence_breakers[1]: "));
  EXPECT_THAT(VerdictOnField("dry_sequence_breakers", R"("a")"), StartsWith("dry_sequence_breakers: "));
}

TEST(JsonBodyTest, WhatIsNoObjectOfJsonIsAnErrorThatSaysWhy) {
  EXPECT_THAT(ParseJsonBody("").error().message, HasSubstr("no body"));
  EXPECT_THAT(ParseJsonBody("{\"a\":}").error().message, HasSubstr("not valid JSON"));
  EXPECT_THAT(ParseJsonBody("{} x").error().message, HasSubstr("not valid JSON"));
  EXPECT_THAT(ParseJsonBody("{\"a\":1").error().message, HasSubstr("not valid JSON"));
  EXPECT_THAT(ParseJsonBody("[]").error().message, HasSubstr("must be a JSON object"));
  EXPECT_THAT(ParseJsonBody("{\"a\":\"\xff\"}").error().message, HasSubstr("not valid JSON"));
  EXPECT_THAT(ParseJsonBody("{\"a\":NaN}").error().message, HasSubstr("not valid JSON"));
  const std::string deep = "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}";
  EXPECT_THAT(ParseJsonBody(deep).error().message, HasSubstr("deeper than the limit of 64"));
}

}  // namespace
}  // namespace inferflux::server
