// The 400 of an unknown field names the field of that endpoint.
#include "server/request/peer_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "server/anthropic/messages_request.h"
#include "server/ollama/ollama_requests.h"
#include "server/openai/completion_request.h"
#include "server/openai/embeddings/embedding_request.h"
#include "server/openai/rerank/rerank_request.h"
#include "server/request/request_testing.h"
#include "server/responses/responses_request.h"

namespace inferflux::server {
namespace {

using ::testing::HasSubstr;

TEST(PeerNamesTest, TheRightFieldIsThatOfTheEndpoint) {
  EXPECT_THAT(Verdict(ParseResponsesRequest, R"({"max_tokens":1})"), HasSubstr("here it is 'max_output_tokens'"));
  EXPECT_THAT(Verdict(ParseResponsesRequest, R"({"messages":[]})"), HasSubstr("here it is 'input'"));
  EXPECT_THAT(Verdict(ParseResponsesRequest, R"({"reasoning_effort":"low"})"), HasSubstr("'reasoning.effort'"));
  EXPECT_THAT(Verdict(ParseMessagesRequest, R"({"stop":[]})"), HasSubstr("here it is 'stop_sequences'"));
  EXPECT_THAT(Verdict(ParseMessagesRequest, R"({"max_token":1})"), HasSubstr("did you mean 'max_tokens'?"));
  EXPECT_THAT(Verdict(ParseOllamaChat, R"({"temperature":1})"), HasSubstr("here it is 'options.temperature'"));
  EXPECT_THAT(Verdict(ParseOllamaChat, R"({"max_tokens":1})"), HasSubstr("here it is 'options.num_predict'"));
  EXPECT_THAT(Verdict(ParseCompletionRequest, R"({"messages":[]})"), HasSubstr("here it is 'prompt'"));
  EXPECT_THAT(Verdict(ParseEmbeddingRequest, R"({"dims":1})"), HasSubstr("here it is 'dimensions'"));
  EXPECT_THAT(Verdict(ParseRerankRequest, R"({"docs":1})"), HasSubstr("here it is 'documents'"));
}

TEST(PeerNamesTest, AnEndpointWithoutTheFieldNamesNone) {
  EXPECT_EQ(PeerNameHint("guided_json", {"input", "dimensions"}), "");
  EXPECT_EQ(PeerNameHint("n_predict", {"input", "dimensions"}), "");
  EXPECT_EQ(PeerNameHint("n_predict", {"prompt", "max_tokens"}), "; here it is 'max_tokens'");
}

}  // namespace
}  // namespace inferflux::server
