// A request with every field set, and the bytes of events: what one side writes is what the other reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/scheduler_driver.h"
#include "text/grammar/grammar_compiler.h"
#include "worker/contract/codec.h"
#include "worker/contract/generation_codec.h"

namespace inferflux::worker {
namespace {

using scheduler::FinishReason;
using scheduler::GenerationRequest;
using scheduler::StreamEvent;
using std::chrono::milliseconds;

const SteadyTime kSentAt{std::chrono::seconds(1000)};

GenerationRequest Everything() {
  GenerationRequest out{.prompt = {1, 2, 3}};
  out.sampling.temperature = 0.5f;
  out.sampling.seed = 7;
  out.max_tokens = 9;
  out.stop = {"a", "b"};
  out.grammar_source = std::make_shared<const text::GrammarSpec>(
      text::GrammarSpec{.kind = text::GrammarSpec::Kind::kChoice, .choices = {"x", "yy"}});
  out.second_text = 2;
  out.next_tokens = scheduler::NextTokensQuery{.output_tokens = 4, .top = 5};
  out.ignore_eos = true;
  out.top_logprobs = 3;
  out.prompt_logprobs = 4;
  out.speculation = scheduler::Speculation{.kind = scheduler::Speculation::Kind::kNone, .max_tokens = 6};
  out.prediction = {8, 9};
  out.continues_text = true;
  out.shown_control = {0, 1};
  out.request_id = "client";
  out.trace_parent = "trace";
  out.account = "acc";
  out.account_limits = {.running = 11, .queued = 12};
  out.cache_salt = 13;
  out.session = scheduler::SessionUse{.id = "s", .ttl = std::chrono::seconds(14), .once = true};
  out.priority = -2;
  out.deadline = kSentAt + milliseconds(1500);
  return out;
}

serving::ServedModel Model() {
  serving::ServedModel out;
  out.tokenizer = scheduler::FakeTokenizer();
  out.grammars = std::make_shared<text::GrammarCompiler>(out.tokenizer);
  return out;
}

TEST(RequestWire, EveryFieldArrives) {
  const GenerationRequest sent = Everything();
  const auto read = FromText<ExecuteRequest>(ToText(ToMessage(sent, "r1", kSentAt)));
  ASSERT_TRUE(read) << read.error().Joined();
  EXPECT_EQ(read->request_id, "r1");
  FieldErrors errors;
  const SteadyTime later = kSentAt + std::chrono::hours(1);  // another machine's clock
  const auto got = FromMessage(*read, Model(), later, errors);
  ASSERT_TRUE(got) << errors.Joined();
  EXPECT_EQ(got->prompt, sent.prompt);
  EXPECT_EQ(got->sampling.temperature, 0.5f);
  EXPECT_EQ(got->sampling.seed, 7u);
  EXPECT_EQ(got->max_tokens, 9);
  EXPECT_EQ(got->stop, sent.stop);
  EXPECT_NE(got->grammar, nullptr);
  EXPECT_FALSE(got->embed);
  EXPECT_FALSE(got->score);
  EXPECT_EQ(got->second_text, 2);
  EXPECT_EQ(got->next_tokens->output_tokens, 4);
  EXPECT_EQ(got->next_tokens->top, 5);
  EXPECT_TRUE(got->ignore_eos);
  EXPECT_EQ(got->top_logprobs, 3);
  EXPECT_EQ(got->prompt_logprobs, 4);
  EXPECT_EQ(got->speculation->kind, scheduler::Speculation::Kind::kNone);
  EXPECT_EQ(got->speculation->max_tokens, 6);
  EXPECT_EQ(got->prediction, sent.prediction);
  EXPECT_TRUE(got->continues_text);
  EXPECT_EQ(got->shown_control, sent.shown_control);
  EXPECT_EQ(got->request_id, "client");
  EXPECT_EQ(got->trace_parent, "trace");
  EXPECT_EQ(got->account, "acc");
  EXPECT_EQ(got->account_limits.running, 11);
  EXPECT_EQ(got->account_limits.queued, 12);
  EXPECT_EQ(got->cache_salt, 13u);
  EXPECT_EQ(got->session->id, "s");
  EXPECT_EQ(got->session->ttl, std::chrono::seconds(14));
  EXPECT_TRUE(got->session->once);
  EXPECT_EQ(got->priority, -2);
  EXPECT_EQ(got->deadline, later + milliseconds(1500));
  for (const bool embed : {true, false}) {
    GenerationRequest pooled{.prompt = {1}};
    (embed ? pooled.embed : pooled.score) = true;
    const auto message =
        FromMessage(*FromText<ExecuteRequest>(ToText(ToMessage(pooled, "r", kSentAt))), Model(), kSentAt, errors);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->embed, embed);
    EXPECT_EQ(message->score, !embed);
    EXPECT_FALSE(message->deadline);
    EXPECT_FALSE(message->session);
  }
}

TEST(RequestWire, ADeadlineThatHasPassedIsStillOne) {
  for (const auto& [left, right] : std::vector<std::pair<int64_t, int64_t>>{{-500, 1}, {0, 1}, {1, 1}, {2, 2}}) {
    GenerationRequest request{.prompt = {1}};
    request.deadline = kSentAt + milliseconds(left);
    EXPECT_EQ(ToMessage(request, "r", kSentAt).deadline_ms, right) << left;
  }
}

std::string Refused(const ExecuteRequest& message) {
  FieldErrors errors;
  return FromMessage(message, Model(), kSentAt, errors) ? "taken" : errors.Joined();
}

TEST(RequestWire, WhatIsWrongIsSaidField) {
  const int32_t size = scheduler::FakeTokenizer()->size();
  EXPECT_EQ(Refused({.request_id = "r"}), "prompt or text is needed, and not both");
  EXPECT_EQ(Refused({.request_id = "r", .prompt = {1}, .text = "a"}), "prompt or text is needed, and not both");
  EXPECT_EQ(Refused({.request_id = "r", .text = "a"}), "taken");
  EXPECT_EQ(Refused({.request_id = "r", .prompt = {1}, .shown_control = {0, size - 1}}), "taken");
  EXPECT_EQ(Refused({.request_id = "r", .prompt = {1}, .shown_control = {0, -1, size}}),
            "shown_control[1] is no token of the model; shown_control[2] is no token of the model");
  ExecuteRequest bad{.request_id = "r", .prompt = {1}};
  bad.grammar = GrammarMessage{.kind = text::GrammarSpec::Kind::kRegex, .source = "("};
  EXPECT_EQ(Refused(bad), "grammar cannot be compiled");
  bad.grammar = GrammarMessage{.kind = text::GrammarSpec::Kind::kToolCalls};
  EXPECT_EQ(Refused(bad), "grammar.tool_calls is needed for this kind");
  bad.grammar->tool_calls = ToolCallGrammar{.syntax = "none of them"};
  EXPECT_EQ(Refused(bad), "grammar.tool_calls.syntax is no syntax of this version");
  bad.grammar.reset();
  bad.reasoning = ReasoningMessage{};
  EXPECT_EQ(Refused(bad), "reasoning needs a model that reasons");
}

TEST(RequestWire, ToolCallsOfAGrammarArrive) {
  const text::ToolCallSyntax& syntax = text::ToolCallSyntaxes().front();
  GenerationRequest request{.prompt = {1}};
  text::GrammarSpec spec{.kind = text::GrammarSpec::Kind::kToolCalls};
  spec.tool_calls.syntax = &syntax;
  spec.tool_calls.tools = {{.name = "f", .parameters = "{}"}};
  spec.tool_calls.forced = true;
  request.grammar_source = std::make_shared<const text::GrammarSpec>(spec);
  const auto read = FromText<ExecuteRequest>(ToText(ToMessage(request, "r", kSentAt)));
  ASSERT_TRUE(read) << read.error().Joined();
  ASSERT_TRUE(read->grammar && read->grammar->tool_calls);
  EXPECT_EQ(read->grammar->tool_calls->syntax, syntax.id);
  EXPECT_EQ(read->grammar->tool_calls->tools.at(0).name, "f");
  EXPECT_TRUE(read->grammar->tool_calls->forced);
  EXPECT_FALSE(read->grammar->tool_calls->several);
  EXPECT_EQ(Refused(*read), "taken");
}

// --- events ---

TEST(EventWire, TheBytesOfAnAnswerAreThose) {
  EventWriter writer(kSentAt);
  std::string bytes;
  writer.Started("r", "w", bytes);
  EXPECT_EQ(bytes, "data: {\"type\":\"started\",\"request_id\":\"r\",\"worker_id\":\"w\"}\n\n");
  bytes.clear();
  writer.Append(StreamEvent{}, kSentAt + milliseconds(1), bytes);
  EXPECT_EQ(bytes, "") << "nothing has nothing to tell";
  StreamEvent token;
  token.text = "a";
  writer.Append(token, kSentAt + milliseconds(250), bytes);
  EXPECT_EQ(bytes, "data: {\"type\":\"token\",\"text\":\"a\"}\n\n");
  bytes.clear();
  StreamEvent last;
  last.finish = scheduler::Finish{
      .reason = FinishReason::kStop,
      .error = {},
      .usage = {
          .prompt_tokens = 1, .completion_tokens = 2, .cached_tokens = 3, .drafted_tokens = 4, .accepted_tokens = 5}};
  writer.Append(last, kSentAt + milliseconds(750), bytes);
  EXPECT_EQ(
      bytes,
      "data: "
      "{\"type\":\"metrics\",\"prompt_tokens\":1,\"completion_tokens\":2,\"cached_tokens\":3,\"drafted_tokens\":4,"
      "\"accepted_tokens\":5,\"time_to_first_token_ms\":2.5E2}\n\n"
      "data: {\"type\":\"end\",\"tokens_out\":2,\"decode_time_ms\":5E2,\"stop_reason\":\"EOS\"}\n\n");
  bytes.clear();
  EventWriter silent(kSentAt);
  last.finish->reason = FinishReason::kError;
  last.finish->error = {ErrorCode::kUnavailable, "gone"};
  silent.Append(last, kSentAt + milliseconds(750), bytes);
  EXPECT_EQ(
      bytes,
      "data: "
      "{\"type\":\"metrics\",\"prompt_tokens\":1,\"completion_tokens\":2,\"cached_tokens\":3,\"drafted_tokens\":4,"
      "\"accepted_tokens\":5,\"time_to_first_token_ms\":0E0}\n\n"
      "data: "
      "{\"type\":\"error\",\"code\":\"WORKER_UNHEALTHY\",\"message\":\"gone\",\"retriable\":true,\"kind\":"
      "\"unavailable\"}\n\n");
}

TEST(EventWire, UsageAndTokensOfThePromptArrive) {
  EventReader reader;
  EXPECT_FALSE(reader.delivered());
  const auto started = reader.Read(R"({"type":"started","request_id":"r","worker_id":"w"})");
  ASSERT_TRUE(started);
  EXPECT_FALSE(*started);
  EXPECT_FALSE(reader.delivered());
  const auto token = reader.Read(
      R"({"type":"token","text":"","prompt":[{"id":3,"logprob":-1.5,"bytes":[65],"top":[{"id":4,"logprob":-2}]}]})");
  ASSERT_TRUE(token && *token);
  EXPECT_TRUE(reader.delivered());
  EXPECT_TRUE((*token)->tokens.empty());
  ASSERT_EQ((*token)->prompt.size(), 1u);
  EXPECT_EQ((*token)->prompt[0].chosen.id, 3);
  EXPECT_EQ((*token)->prompt[0].chosen.bytes, "A");
  EXPECT_EQ((*token)->prompt[0].top.at(0).id, 4);
  const auto metrics = reader.Read(
      R"({"type":"metrics","prompt_tokens":1,"completion_tokens":2,"cached_tokens":3,"drafted_tokens":4,"accepted_tokens":5,"time_to_first_token_ms":0})");
  ASSERT_TRUE(metrics);
  EXPECT_FALSE(*metrics);
  EXPECT_FALSE(reader.finished());
  const auto last = reader.Read(R"({"type":"error","code":"INTERNAL","message":"m","retriable":false,"kind":"io"})");
  ASSERT_TRUE(last && *last && (*last)->finish);
  EXPECT_TRUE(reader.finished());
  const scheduler::Finish& finish = *(*last)->finish;
  EXPECT_EQ(finish.reason, FinishReason::kError);
  EXPECT_EQ(finish.error.code, ErrorCode::kIo);
  EXPECT_EQ(finish.usage.prompt_tokens, 1);
  EXPECT_EQ(finish.usage.completion_tokens, 2);
  EXPECT_EQ(finish.usage.cached_tokens, 3);
  EXPECT_EQ(finish.usage.drafted_tokens, 4);
  EXPECT_EQ(finish.usage.accepted_tokens, 5);
}

TEST(EventWire, EachReasonToEndIsTheSchedulers) {
  for (const auto& [word, reason] :
       std::vector<std::pair<const char*, FinishReason>>{{"EOS", FinishReason::kStop},
                                                         {"STOP_SEQUENCE", FinishReason::kStop},
                                                         {"MAX_TOKENS", FinishReason::kLength},
                                                         {"CANCELLED", FinishReason::kCancelled}}) {
    EventReader reader;
    const auto last = reader.Read(std::string(R"({"type":"end","tokens_out":0,"decode_time_ms":0,"stop_reason":")") +
                                  word + R"(","stop_sequence_matched":"x","stop_token":7})");
    ASSERT_TRUE(last && *last) << word;
    EXPECT_EQ((*last)->finish->reason, reason) << word;
    EXPECT_EQ((*last)->finish->stop_string, "x");
    EXPECT_EQ((*last)->finish->stop_token, 7);
  }
}

TEST(EventWire, WhatBreaksTheContractIsDataLoss) {
  const auto message = [](EventReader reader, const char* data) {
    const auto read = reader.Read(data);
    if (read) return std::string("taken");
    EXPECT_EQ(read.error().code, ErrorCode::kDataLoss);
    return read.error().message;
  };
  for (const char* data : {"", "{", "[]", "{}", R"({"type":7})"})
    EXPECT_EQ(message({}, data), "the worker sent an event without a type") << data;
  EXPECT_EQ(message({}, R"({"type":"token"})"), "the worker sent a bad event: text is needed");
  EXPECT_EQ(message({}, R"({"type":"started"})"),
            "the worker sent a bad event: request_id is needed; worker_id is needed");
  EXPECT_EQ(message({}, R"({"type":"end"})"),
            "the worker sent a bad event: tokens_out is needed; decode_time_ms is needed; stop_reason is needed");
  EventReader ended;
  ASSERT_TRUE(ended.Read(R"({"type":"end","tokens_out":0,"decode_time_ms":0,"stop_reason":"EOS"})"));
  EXPECT_EQ(message(ended, R"({"type":"token","text":"more"})"), "the worker sent an event after the last one");
}

TEST(ErrorCodes, EachErrorHasItsCodeAndWhetherToTryAgain) {
  const std::vector<std::pair<Error, std::string>> cases = {
      {{ErrorCode::kInvalidArgument, "deadline"}, "INVALID_REQUEST 0"},
      {{ErrorCode::kNotFound, ""}, "INVALID_REQUEST 0"},
      {{ErrorCode::kUnsupported, ""}, "INVALID_REQUEST 0"},
      {{ErrorCode::kResourceExhausted, "full"}, "WORKER_UNHEALTHY 1"},
      {{ErrorCode::kResourceExhausted, "the deadline passed"}, "TIMEOUT 1"},
      {{ErrorCode::kUnavailable, "deadline"}, "WORKER_UNHEALTHY 1"},
      {{ErrorCode::kCancelled, ""}, "CANCELLED 0"},
      {{ErrorCode::kDataLoss, ""}, "INTERNAL 0"},
      {{ErrorCode::kIo, ""}, "INTERNAL 0"},
      {{ErrorCode::kInternal, ""}, "INTERNAL 0"},
  };
  for (const auto& [error, right] : cases) {
    const WireError wire = ToMessage(error);
    EXPECT_EQ(std::string(WordOf(wire.code)) + (wire.retriable ? " 1" : " 0"), right);
    EXPECT_EQ(wire.message, error.message);
    EXPECT_EQ(FromMessage(wire).code, error.code);
  }
}

TEST(RequestWire, TheLoadOfASchedulerArrives) {
  const scheduler::SchedulerStats stats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(
      ToText(ToMessage(stats)),
      R"({"running":2,"queued":1,"kv_blocks_used":3,"kv_blocks_free":4,"kv_blocks_cached":5,"preemptions":6,"drafted_tokens":7,)"
      R"("accepted_tokens":8,"graphs":9,"graph_replays":10,"graph_refusals":11,"retry_after_seconds":12})");
}

}  // namespace
}  // namespace inferflux::worker
