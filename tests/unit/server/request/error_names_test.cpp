// The name that each API has for the field of a generation that is wrong, and the statuses of errors.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "server/anthropic/anthropic_error.h"
#include "server/anthropic/messages_request.h"
#include "server/ollama/ollama_error.h"
#include "server/openai/fields/generation_fields.h"
#include "server/request/api_error.h"
#include "server/responses/responses_request.h"

namespace inferflux::server {
namespace {

using Wrong = serving::GenerationError::Field;
using WrongKind = serving::GenerationError::Kind;

constexpr Wrong kAllFields[] = {Wrong::kModel,      Wrong::kPrompt,         Wrong::kGrammar,    Wrong::kSpeculation,
                                Wrong::kLogitBias,  Wrong::kPromptLogprobs, Wrong::kLogprobs,   Wrong::kTools,
                                Wrong::kToolChoice, Wrong::kParallelCalls,  Wrong::kStrictTool, Wrong::kReasoning};

template <class Convert>
std::vector<std::string> NamesBy(Convert convert) {
  std::vector<std::string> out;
  for (const Wrong field : kAllFields) {
    const ApiError error = convert({.kind = WrongKind::kInvalid, .field = field, .message = "is wrong", .index = 3});
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.code, "invalid_value");
    EXPECT_EQ(error.message, "'" + error.param + "' is wrong");
    out.push_back(error.param);
  }
  return out;
}

TEST(ErrorNamesTest, EachApiNamesItsOwnFields) {
  GenerationFields fields;
  fields.grammar_param = "response_format";
  fields.reasoning_param = "reasoning_effort";
  EXPECT_EQ(
      NamesBy([&](serving::GenerationError error) { return FromGeneration(std::move(error), fields, "prompts"); }),
      (std::vector<std::string>{"model", "prompts", "response_format", "speculative.type", "logit_bias",
                                "prompt_logprobs", "logprobs", "tools", "tool_choice", "parallel_tool_calls",
                                "tools[3].function.strict", "reasoning_effort"}));
  EXPECT_EQ(
      NamesBy([](serving::GenerationError error) { return FromResponsesGeneration(std::move(error)); }),
      (std::vector<std::string>{"model", "input", "text.format", "", "logit_bias", "", "top_logprobs", "tools",
                                "tool_choice", "parallel_tool_calls", "tools[3].strict", "thinking_token_budget"}));
  EXPECT_EQ(NamesBy([](serving::GenerationError error) { return FromMessagesGeneration(std::move(error)); }),
            (std::vector<std::string>{"model", "messages", "output_config.format", "", "logit_bias", "", "", "tools",
                                      "tool_choice", "tool_choice.disable_parallel_tool_use", "tools[3].strict",
                                      "thinking"}));
  EXPECT_EQ(NamesBy([](serving::GenerationError error) { return FromOllamaGeneration(std::move(error), "prompt"); }),
            (std::vector<std::string>{"model", "prompt", "format", "", "options.logit_bias", "", "top_logprobs",
                                      "tools", "tools", "tools", "tools[3]", "think"}));
}

TEST(ErrorNamesTest, AModelWithoutATemplateCompletes) {
  const ApiError error = FromGeneration(
      {.kind = WrongKind::kNoChatTemplate, .field = Wrong::kPrompt, .message = "it has none"}, {}, "messages");
  EXPECT_EQ(error.message, "it has none; use /v1/completions");
  EXPECT_EQ(error.code, "no_chat_template");
  EXPECT_EQ(FromResponsesGeneration({.kind = WrongKind::kNoChatTemplate, .message = "it has none"}).message,
            "it has none");
}

TEST(ErrorNamesTest, AnthropicsTypesFollowTheStatus) {
  for (const auto& [status, type] : std::map<int, std::string>{{400, "invalid_request_error"},
                                                               {401, "authentication_error"},
                                                               {403, "permission_error"},
                                                               {404, "not_found_error"},
                                                               {409, "invalid_request_error"},
                                                               {413, "request_too_large"},
                                                               {429, "rate_limit_error"},
                                                               {499, "invalid_request_error"},
                                                               {500, "api_error"},
                                                               {502, "api_error"},
                                                               {503, "overloaded_error"},
                                                               {529, "overloaded_error"}}) {
    EXPECT_EQ(AnthropicErrorJson({status, "m"}, "req_1"),
              R"({"type":"error","error":{"type":")" + type + R"(","message":"m"},"request_id":"req_1"})")
        << status;
    const net::Response response = AnthropicErrorResponse({status, "m"});
    EXPECT_EQ(response.status, status == 503 ? 529 : status);
    EXPECT_EQ(net::FindHeader(response.headers, "Retry-After"), status == 429 || status == 503 ? "1" : "");
    const std::string id(net::FindHeader(response.headers, "request-id"));
    EXPECT_EQ(id.size(), 28u);
    EXPECT_NE(response.body.find("\"request_id\":\"" + id + "\""), std::string::npos);
  }
}

TEST(ErrorNamesTest, ErrorsOfTheFloorsBelowHaveStatuses) {
  const auto shown = [](ErrorCode code) {
    const ApiError error = FromError({code, "m"}, "p");
    return fmt::format("{} {} {} {}", error.status, error.type, error.param, error.code);
  };
  EXPECT_EQ(shown(ErrorCode::kInvalidArgument), "400 invalid_request_error p invalid_value");
  EXPECT_EQ(shown(ErrorCode::kUnsupported), "400 invalid_request_error p invalid_value");
  EXPECT_EQ(shown(ErrorCode::kNotFound), "404 invalid_request_error p not_found");
  EXPECT_EQ(shown(ErrorCode::kResourceExhausted), "429 rate_limit_error  overloaded");
  EXPECT_EQ(shown(ErrorCode::kUnavailable), "503 service_unavailable_error  unavailable");
  EXPECT_EQ(shown(ErrorCode::kCancelled), "503 service_unavailable_error  unavailable");
  for (const ErrorCode code : {ErrorCode::kDataLoss, ErrorCode::kIo, ErrorCode::kInternal})
    EXPECT_EQ(shown(code), "500 server_error  internal_error");
  EXPECT_EQ(FromStatus(500, "m").code, "internal_error");
  EXPECT_EQ(FromStatus(499, "m").code, "");
  EXPECT_EQ(FromStatus(404, "m").code, "unknown_url");
  EXPECT_EQ(FromStatus(503, "m").type, "service_unavailable_error");
  const net::Response busy = ErrorResponse({429, "m", "x", "", "", 17});
  EXPECT_EQ(net::FindHeader(busy.headers, "Retry-After"), "17");
  EXPECT_EQ(net::FindHeader(ErrorResponse({400, "m"}).headers, "Retry-After"), "");
  EXPECT_EQ(net::FindHeader(ErrorResponse({401, "m"}).headers, "WWW-Authenticate"), "Bearer");
}

}  // namespace
}  // namespace inferflux::server
