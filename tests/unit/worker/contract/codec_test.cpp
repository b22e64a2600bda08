#include "worker/contract/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/contract/generation_messages.h"

namespace inferflux::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Violations(const FieldErrors& errors) {
  std::vector<std::string> out;
  for (const FieldError& error : errors.all()) out.push_back(error.field + ":" + error.constraint);
  return out;
}

TEST(Codec, CollectsEveryErrorOfARequest) {
  const auto read = FromText<ExecuteRequest>(
      R"({"prompt": [1, "x"], "sampling": {"top_p": 1.5, "temperature": "hot"}, "max_tokens": 3.5,
          "grammar": {"kind": "sonnet"}, "surprise": 1})");
  ASSERT_FALSE(read);
  EXPECT_THAT(
      Violations(read.error()),
      ElementsAre("request_id:required", "prompt[1]:type", "sampling.temperature:type", "sampling.top_p:maximum",
                  "max_tokens:type", "grammar.kind:enum", "surprise:additionalProperties"));
}

TEST(Codec, NeverRepeatsWhatTheRequestSays) {
  const auto read =
      FromText<ExecuteRequest>(R"({"request_id": 7, "text": 9, "stop": ["secret-text", 5], "account": ["secret-text"],
                                               "grammar": {"kind": "secret-text"}})");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().Joined(), Not(HasSubstr("secret-text")));
}

TEST(Codec, BoundsTheNumberOfErrors) {
  std::string body = R"({"request_id": "a", "prompt": [)";
  for (int i = 0; i < 5000; ++i) body += i == 0 ? "\"x\"" : ",\"x\"";
  const auto read = FromText<ExecuteRequest>(body + "]}");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().all().size(), FieldErrors::kMost);
}

TEST(Codec, RefusesWhatIsNoJson) {
  const auto read = FromText<CancelRequest>("{\"request_id\": \"a\"");
  ASSERT_FALSE(read);
  EXPECT_THAT(Violations(read.error()), ElementsAre(":type"));
}

TEST(Codec, RefusesDeepNesting) {
  const std::string body = std::string(100'000, '[');
  EXPECT_FALSE(FromText<CancelRequest>(body));
}

TEST(Codec, KeepsNumbersExactly) {
  ExecuteRequest message{.request_id = "a", .prompt = {0, 1, 2147483647}};
  message.sampling.temperature = 0.7f;
  message.sampling.seed = 18446744073709551615ULL;
  message.sampling.logit_bias = {{3, -1.1f}};
  message.cache_salt = 18446744073709551557ULL;
  const auto read = FromText<ExecuteRequest>(ToText(message));
  ASSERT_TRUE(read) << read.error().Joined();
  EXPECT_EQ(read->prompt, message.prompt);
  EXPECT_EQ(read->sampling.temperature, 0.7f);
  EXPECT_EQ(read->sampling.seed, message.sampling.seed);
  EXPECT_EQ(read->sampling.logit_bias, message.sampling.logit_bias);
  EXPECT_EQ(read->cache_salt, message.cache_salt);
}

TEST(Codec, AnAbsentFieldKeepsItsDefault) {
  const auto read = FromText<ExecuteRequest>(R"({"request_id": "a", "top_logprobs": null})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sampling.temperature, 1.0f);
  EXPECT_EQ(read->top_logprobs, std::nullopt);
}

TEST(ErrorCodes, EveryCodeHasAStatusAndAWord) {
  for (const auto& [word, code] : WordsOf<WorkerErrorCode>::kWords) {
    EXPECT_EQ(FactsOf(code).code, code) << word;
    EXPECT_GE(FactsOf(code).status, 400) << word;
  }
}

}  // namespace
}  // namespace inferflux::worker
