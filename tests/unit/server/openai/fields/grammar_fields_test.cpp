// The fields that constrain a request's text, over HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;

void SayNothing(const GenerationRequest&, TokenStream& stream) { stream.Push(End(FinishReason::kStop, 1, 1)); }

std::string Chat(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"Hi"}],)" + fields + "}";
}

// "ok", or the error's param and message.
std::string Verdict(FakeServer& fake, const std::string& fields) {
  const auto answer = fake.PostJson("/v1/chat/completions", Chat(fields));
  const auto* error = answer.as_object().if_contains("error");
  if (error == nullptr) return "ok";
  return std::string(error->at("param").is_string() ? error->at("param").as_string().c_str() : "") + ": " +
         error->at("message").as_string().c_str();
}

TEST(GrammarFieldsTest, EachFieldBecomesAGrammar) {
  FakeServer fake(SayNothing);
  const char* fields[] = {
      R"("response_format":{"type":"json_object"})",
      R"("response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"description":"d","schema":{"type":"null"}}})",
      R"("response_format":{"type":"json_schema","json_schema":{"name":"n"}})",
      R"("grammar":"root ::= \"a\"")",
      R"("structured_outputs":{"json":{"type":"integer"}})",
      R"("structured_outputs":{"json":"{\"type\":\"integer\"}"})",
      R"("structured_outputs":{"json_object":true})",
      R"("structured_outputs":{"regex":"a+"})",
      R"("structured_outputs":{"choice":["yes","no"]})",
      R"("structured_outputs":{"grammar":"root ::= [a-z]"})",
  };
  for (const char* each : fields) EXPECT_EQ(Verdict(fake, each), "ok") << each;
  const auto requests = fake.scheduler->requests();
  ASSERT_EQ(requests.size(), std::size(fields));
  for (const auto& request : requests) EXPECT_TRUE(request.grammar != nullptr);

  EXPECT_EQ(Verdict(fake, R"("response_format":{"type":"text"})"), "ok");
  EXPECT_EQ(fake.scheduler->requests().back().grammar, nullptr);
  const auto answer = fake.PostJson("/v1/completions", R"({"prompt":"x","n":2,"structured_outputs":{"regex":"a"}})");
  ASSERT_TRUE(answer.as_object().contains("choices"));
  EXPECT_EQ(fake.scheduler->requests().back().grammar,
            fake.scheduler->requests()[fake.scheduler->requests().size() - 2].grammar)
      << "the choices share what was compiled";
}

TEST(GrammarFieldsTest, WhatIsWrongIsNamedWithItsPlace) {
  FakeServer fake(SayNothing);
  const auto expect = [&](const char* fields, const char* param, const char* message) {
    EXPECT_THAT(Verdict(fake, fields), AllOf(::testing::StartsWith(std::string(param) + ": "), HasSubstr(message)))
        << fields;
  };
  expect(R"("response_format":{"type":"xml"})", "response_format.type", "json_schema");
  expect(R"("response_format":{"type":"json_schema"})", "response_format.json_schema", "is missing");
  expect(R"("response_format":{"type":"json_object","json_schema":{}})", "response_format.json_schema", "goes with");
  expect(R"("response_format":{"type":"json_schema","json_schema":{"schema":{}}})", "response_format.json_schema.name",
         "is missing");
  expect(
      R"("response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"properties":{"a":{"unevaluatedItems":{}}}}}})",
      "response_format.json_schema.schema",
      "at #/properties/a/unevaluatedItems: the keyword 'unevaluatedItems' is not supported");
  expect(R"("grammar":"root ::= root \"a\" | \"b\"")", "grammar", "'root' is left-recursive");
  expect(R"("grammar":7)", "grammar", "must be a string");
  expect(R"("structured_outputs":{"regex":"("})", "structured_outputs.regex", "')' is missing");
  expect(R"("structured_outputs":{"choice":[]})", "structured_outputs.choice", "no choices");
  expect(R"("structured_outputs":{"choice":[1]})", "structured_outputs.choice[0]", "must be a string");
  expect(R"("structured_outputs":{"structural_tag":"x"})", "structured_outputs.structural_tag", "Unrecognized");
  expect(R"("structured_outputs":{"regex":"a","choice":["b"]})", "structured_outputs.choice", "cannot go with");
  expect(R"("grammar":"root ::= \"a\"","response_format":{"type":"json_object"})", "response_format",
         "cannot go with 'grammar'");
  expect(R"("response_format":{"type":"json_object"},"tools":[{"type":"function","function":{"name":"f"}}])",
         "response_format", "no room for the call of a tool");
}

TEST(GrammarFieldsTest, AModelThatCannotSaysSo) {
  FakeServer fake(SayNothing, {}, [](serving::ServedModel& model) { model.capabilities.structured_output = false; });
  const auto reply = fake.Post("/v1/chat/completions", Chat(R"("response_format":{"type":"json_object"})"));
  EXPECT_EQ(reply.status, 422);
  EXPECT_THAT(reply.body, AllOf(HasSubstr("missing_capability"), HasSubstr("structured_output")));
  EXPECT_EQ(fake.Post("/v1/chat/completions", Chat(R"("n":1)")).status, 200);
}

}  // namespace
}  // namespace inferflux::testing
