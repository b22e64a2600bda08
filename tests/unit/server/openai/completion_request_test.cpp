#include "server/openai/completion_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/request/request_testing.h"

namespace inferflux::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string VerdictOnBody(std::string_view body) { return Verdict(ParseCompletionRequest, body); }

std::vector<RawPrompt> Prompts(std::string_view prompt) {
  const auto request = ParseCompletionRequest(*ParseJsonBody(fmt::format(R"({{"prompt":{}}})", prompt)));
  EXPECT_TRUE(request.has_value()) << prompt;
  return request ? request->prompts : std::vector<RawPrompt>();
}

TEST(CompletionRequestTest, PromptsComeInFourForms) {
  EXPECT_EQ(Prompts("\"a\""), std::vector<RawPrompt>{"a"});
  EXPECT_EQ(Prompts(R"(["a","b"])"), (std::vector<RawPrompt>{"a", "b"}));
  EXPECT_EQ(Prompts("[1,2]"), (std::vector<RawPrompt>{std::vector<TokenId>{1, 2}}));
  EXPECT_EQ(Prompts("[[1],[2,3]]"), (std::vector<RawPrompt>{std::vector<TokenId>{1}, std::vector<TokenId>{2, 3}}));
}

TEST(CompletionRequestTest, BrokenPromptsAreNamed) {
  EXPECT_THAT(VerdictOnBody("{}"), StartsWith("prompt: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":null})"), StartsWith("prompt: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":[]})"), StartsWith("prompt: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":5})"), StartsWith("prompt: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":[1,"a"]})"), StartsWith("prompt[1]: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":["a",1]})"), StartsWith("prompt[1]: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":[-1]})"), StartsWith("prompt[0]: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":[4294967296]})"), StartsWith("prompt[0]: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":[[1],[1.5]]})"), StartsWith("prompt[1][0]: "));
}

TEST(CompletionRequestTest, PromptsTimesChoicesHaveALimit) {
  EXPECT_EQ(VerdictOnBody(R"({"prompt":["a","b"],"n":64})"), "ok");
  EXPECT_THAT(VerdictOnBody(R"({"prompt":["a","b"],"n":65})"), StartsWith("n: "));
}

TEST(CompletionRequestTest, WhatIsNotServedIsTakenOnlyWhereItAsksForNothing) {
  EXPECT_EQ(VerdictOnBody(R"({"prompt":"a","echo":false,"best_of":1,"suffix":""})"), "ok");
  EXPECT_EQ(VerdictOnBody(R"({"prompt":"a","best_of":2})"), "ok");
  EXPECT_THAT(VerdictOnBody(R"({"prompt":"a","n":3,"best_of":2})"), StartsWith("best_of: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":"a","best_of":2,"stream":true})"), StartsWith("best_of: "));
  EXPECT_THAT(VerdictOnBody(R"({"prompt":"a","suffix":"b","echo":true})"), StartsWith("suffix: "));
}

TEST(CompletionRequestTest, TheDefaultOfMaxTokensIsTheApis) {
  EXPECT_EQ(ParseCompletionRequest(*ParseJsonBody(R"({"prompt":"a"})"))->max_tokens, 16);
}

}  // namespace
}  // namespace inferflux::server
