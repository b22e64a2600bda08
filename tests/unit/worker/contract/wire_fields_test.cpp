// Fields of requests and events that other tests leave at their defaults.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/sse.h"
#include "scheduler/scheduler_driver.h"
#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/grammar_compiler.h"
#include "worker/contract/codec.h"
#include "worker/contract/generation_codec.h"

namespace inferflux::worker {
namespace {

using scheduler::GenerationRequest;
using scheduler::StreamEvent;
using std::chrono::milliseconds;

const SteadyTime kBegin{std::chrono::seconds(1000)};

// What the other side reads of a request.
ExecuteRequest Sent(const GenerationRequest& request) {
  auto read = FromText<ExecuteRequest>(ToText(ToMessage(request, "r", kBegin)));
  EXPECT_TRUE(read) << read.error().Joined();
  return read.value_or(ExecuteRequest{});
}

TEST(WireFields, AGrammarOfToolCallsKeepsAllItsParts) {
  for (const bool forced : {true, false}) {
    text::GrammarSpec spec{.kind = text::GrammarSpec::Kind::kToolCalls};
    spec.tool_calls.syntax = &text::ToolCallSyntaxes().back();
    spec.tool_calls.tools = {{.name = "f", .parameters = "{}"}, {.name = "g", .parameters = "{}"}};
    spec.tool_calls.tokens = {.shown = {3, 4}, .control = {"<c>"}, .ends = {"<e>"}};
    spec.tool_calls.forced = forced;
    spec.tool_calls.several = !forced;
    GenerationRequest request{.prompt = {1}};
    request.grammar_source = std::make_shared<const text::GrammarSpec>(spec);
    const ExecuteRequest sent = Sent(request);
    ASSERT_TRUE(sent.grammar && sent.grammar->tool_calls);
    const ToolCallGrammar& got = *sent.grammar->tool_calls;
    EXPECT_EQ(got.syntax, spec.tool_calls.syntax->id);
    EXPECT_EQ(got.tokens, spec.tool_calls.tokens);
    EXPECT_EQ(got.tools, spec.tool_calls.tools);
    EXPECT_EQ(got.forced, forced);
    EXPECT_EQ(got.several, !forced);
  }
  GenerationRequest plain{.prompt = {1}};
  plain.grammar_source = std::make_shared<const text::GrammarSpec>(
      text::GrammarSpec{.kind = text::GrammarSpec::Kind::kRegex, .source = "a+"});
  EXPECT_FALSE(Sent(plain).grammar->tool_calls) << "it is no grammar of calls";
}

// The texts that a grammar from the wire takes.
bool Takes(const ExecuteRequest& message, std::string_view text) {
  serving::ServedModel model;
  model.tokenizer = scheduler::FakeTokenizer();
  model.grammars = std::make_shared<text::GrammarCompiler>(model.tokenizer);
  FieldErrors errors;
  const auto request = FromMessage(message, model, kBegin, errors);
  EXPECT_TRUE(request && request->grammar) << errors.Joined();
  if (!request || !request->grammar) return false;
  text::Pushdown run(request->grammar->grammar());
  text::ConfigId at = run.Start();
  for (const char c : text) at = run.Next(at, static_cast<uint8_t>(c));
  return run.CanEnd(at);
}

TEST(WireFields, AWorkerCompilesTheGrammarThatWasSent) {
  using Kind = text::GrammarSpec::Kind;
  ExecuteRequest message{.request_id = "r", .prompt = {1}};
  message.grammar = GrammarMessage{.kind = Kind::kChoice, .choices = {"yes", "no"}};
  EXPECT_TRUE(Takes(message, "no"));
  EXPECT_FALSE(Takes(message, "maybe"));
  message.grammar = GrammarMessage{.kind = Kind::kRegex, .source = "a+"};
  EXPECT_TRUE(Takes(message, "aa"));
  EXPECT_FALSE(Takes(message, "b"));
  const std::string one = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
  for (const bool forced : {true, false}) {
    message.grammar = GrammarMessage{
        .kind = Kind::kToolCalls,
        .tool_calls = ToolCallGrammar{.syntax = std::string(text::HermesSyntax().id),
                                      .tools = {{.name = "f", .parameters = R"({"type":"object","properties":{}})"}},
                                      .forced = forced,
                                      .several = !forced}};
    EXPECT_TRUE(Takes(message, one)) << forced;
    EXPECT_EQ(Takes(message, "no call"), !forced);
    EXPECT_EQ(Takes(message, one + "\n" + one), !forced);
  }
}

TEST(WireFields, ReasoningArrivesWithItsModelsDialect) {
  GenerationRequest request{.prompt = {1}};
  request.reasoning = std::make_shared<const text::ReasoningLimits>(text::ReasoningLimits{.inside = true, .budget = 7});
  const ExecuteRequest sent = Sent(request);
  serving::ServedModel model;
  model.tokenizer = scheduler::FakeTokenizer();
  model.grammars = std::make_shared<text::GrammarCompiler>(model.tokenizer);
  model.reasoning = std::make_shared<const text::ReasoningDialect>();
  FieldErrors errors;
  const auto got = FromMessage(sent, model, kBegin, errors);
  ASSERT_TRUE(got) << errors.Joined();
  ASSERT_NE(got->reasoning, nullptr);
  EXPECT_EQ(got->reasoning->dialect, model.reasoning);
  EXPECT_TRUE(got->reasoning->inside);
  EXPECT_EQ(got->reasoning->budget, 7);
  const auto without = FromMessage(ExecuteRequest{.request_id = "r", .prompt = {1}}, model, kBegin, errors);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->reasoning, nullptr) << "none was asked for";
}

TEST(WireFields, ATextThatIsNotTokensIsTokenisedByTheWorker) {
  serving::ServedModel model;
  model.tokenizer = scheduler::FakeTokenizer();
  FieldErrors errors;
  const auto got = FromMessage(ExecuteRequest{.request_id = "r", .text = "AB"}, model, kBegin, errors);
  ASSERT_TRUE(got) << errors.Joined();
  EXPECT_EQ(got->prompt, (std::vector<TokenId>{'A', 'B'}));
  model.info.context = 1;
  EXPECT_FALSE(FromMessage(ExecuteRequest{.request_id = "r", .text = std::string(1000, 'a')}, model, kBegin, errors));
  EXPECT_EQ(errors.Joined(), "text cannot be tokenised");
}

TEST(WireFields, EachEventWithSomethingToTellIsSentAndTheFirstBeginsTheTime) {
  const std::string token = R"({"id":65,"logprob":-1E0,"bytes":[65]})";
  EventWriter writer(kBegin);
  const auto written = [&](const StreamEvent& event, int at) {
    std::string bytes;
    writer.Append(event, kBegin + milliseconds(at), bytes);
    return bytes;
  };
  StreamEvent prompt, tokens, text, last;
  prompt.prompt = {{.chosen = {.id = 65, .bytes = "A", .logprob = -1}}};
  tokens.tokens = prompt.prompt;
  text.text = "B";
  EXPECT_EQ(written(prompt, 10), R"(data: {"type":"token","text":"","prompt":[)" + token + "]}\n\n");
  EXPECT_EQ(written(tokens, 20), R"(data: {"type":"token","text":"","tokens":[)" + token + "]}\n\n");
  EXPECT_EQ(written(text, 30), "data: {\"type\":\"token\",\"text\":\"B\"}\n\n");
  last.finish.emplace();
  last.finish->usage = {.prompt_tokens = 1, .completion_tokens = 2};
  EXPECT_EQ(written(last, 40),
            R"(data: {"type":"metrics","prompt_tokens":1,"completion_tokens":2,"cached_tokens":0,"drafted_tokens":0,)"
            R"("accepted_tokens":0,"time_to_first_token_ms":1E1})"
            "\n\n"
            R"(data: {"type":"end","tokens_out":2,"decode_time_ms":3E1,"stop_reason":"EOS"})"
            "\n\n");
}

TEST(WireFields, WhatMayComeNextArrivesWhole) {
  StreamEvent last;
  last.finish.emplace();
  last.next_tokens = scheduler::NextTokens{.vocabulary = 300,
                                           .allowed = 2,
                                           .may_end = true,
                                           .allowed_probability = 0.5,
                                           .top = {{.id = 5, .bytes = "a", .logprob = -2}},
                                           .unconstrained = {{.id = 6, .bytes = "b", .logprob = -1}}};
  EventWriter writer(kBegin);
  std::string bytes;
  writer.Append(last, kBegin, bytes);
  EventReader reader;
  std::vector<StreamEvent> got;
  net::SseParser parser;
  ASSERT_TRUE(parser.Feed(bytes, [&](const net::SseParser::Event& event) {
    auto read = reader.Read(event.data);
    ASSERT_TRUE(read) << read.error().message;
    if (*read) got.push_back(std::move(**read));
  }));
  ASSERT_EQ(got.size(), 1u);
  ASSERT_TRUE(got[0].next_tokens);
  const scheduler::NextTokens& next = *got[0].next_tokens;
  EXPECT_EQ(next.vocabulary, 300);
  EXPECT_EQ(next.allowed, 2);
  EXPECT_TRUE(next.may_end);
  EXPECT_EQ(next.allowed_probability, 0.5);
  ASSERT_EQ(next.top.size(), 1u);
  ASSERT_EQ(next.unconstrained.size(), 1u);
  EXPECT_EQ(next.top[0].id, 5);
  EXPECT_EQ(next.top[0].bytes, "a");
  EXPECT_EQ(next.top[0].logprob, -2);
  EXPECT_EQ(next.unconstrained[0].id, 6);
  EXPECT_EQ(next.unconstrained[0].bytes, "b");
}

}  // namespace
}  // namespace inferflux::worker
