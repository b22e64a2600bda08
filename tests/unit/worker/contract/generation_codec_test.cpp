#include "worker/contract/generation_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "net/sse.h"
#include "text/grammar/grammar_spec.h"

namespace inferflux::worker {
namespace {

using scheduler::FinishReason;
using scheduler::StreamEvent;
using ::testing::ElementsAre;

const SteadyTime kNow{std::chrono::seconds(1000)};

// What a reader makes of what a writer writes.
std::vector<StreamEvent> ThroughTheWire(const std::vector<StreamEvent>& events) {
  EventWriter writer(kNow);
  std::string bytes;
  writer.Started("r", "w", bytes);
  for (const StreamEvent& event : events) writer.Append(event, kNow, bytes);
  EventReader reader;
  std::vector<StreamEvent> out;
  net::SseParser parser;
  EXPECT_TRUE(parser.Feed(bytes, [&](const net::SseParser::Event& event) {
    auto read = reader.Read(event.data);
    ASSERT_TRUE(read) << read.error().message;
    if (*read) out.push_back(std::move(**read));
  }));
  EXPECT_TRUE(reader.finished());
  return out;
}

StreamEvent Last(FinishReason reason) {
  StreamEvent out;
  out.finish = scheduler::Finish{
      .reason = reason, .error = {}, .usage = {.prompt_tokens = 9, .completion_tokens = 4, .cached_tokens = 8}};
  return out;
}

TEST(GenerationCodec, EventsArriveAsTheyWereSent) {
  StreamEvent token;
  token.text = "hé";
  token.tokens = {{.chosen = {.id = 5, .bytes = "h\xc3", .logprob = -0.25f},
                   .top = {{.id = 6, .bytes = "\xa9", .logprob = -std::numeric_limits<float>::infinity()}}}};
  StreamEvent last = Last(FinishReason::kStop);
  last.text = "!";
  last.finish->stop_string = "\n\n";
  const auto got = ThroughTheWire({token, last});
  ASSERT_EQ(got.size(), 3u);  // the text of the last event comes by itself
  EXPECT_EQ(got[0].text, "hé");
  ASSERT_EQ(got[0].tokens.size(), 1u);
  EXPECT_EQ(got[0].tokens[0].chosen.bytes, "h\xc3");
  EXPECT_EQ(got[0].tokens[0].chosen.logprob, -0.25f);
  EXPECT_EQ(got[0].tokens[0].top[0].bytes, "\xa9");
  EXPECT_LT(got[0].tokens[0].top[0].logprob, -1e30f);
  EXPECT_EQ(got[1].text, "!");
  ASSERT_TRUE(got[2].finish);
  EXPECT_EQ(got[2].finish->reason, FinishReason::kStop);
  EXPECT_EQ(got[2].finish->stop_string, "\n\n");
  EXPECT_EQ(got[2].finish->usage.cached_tokens, 8);
  EXPECT_EQ(got[2].finish->usage.completion_tokens, 4);
}

TEST(GenerationCodec, EveryReasonToFinishSurvives) {
  for (const FinishReason reason : {FinishReason::kStop, FinishReason::kLength, FinishReason::kCancelled}) {
    const auto got = ThroughTheWire({Last(reason)});
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].finish->reason, reason);
  }
  StreamEvent stopped = Last(FinishReason::kStop);
  stopped.finish->stop_token = 2;
  EXPECT_EQ(ThroughTheWire({stopped})[0].finish->stop_token, 2);
}

TEST(GenerationCodec, AnErrorKeepsItsCode) {
  StreamEvent failed = Last(FinishReason::kError);
  failed.finish->error = {.code = ErrorCode::kResourceExhausted, .message = "full"};
  const auto got = ThroughTheWire({failed});
  EXPECT_EQ(got[0].finish->error.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(got[0].finish->error.message, "full");
}

TEST(GenerationCodec, APassedDeadlineIsATimeout) {
  const WireError late = ToMessage(
      Error{.code = ErrorCode::kResourceExhausted, .message = "the request's deadline passed after 3 of its tokens"});
  EXPECT_EQ(late.code, WorkerErrorCode::kTimeout);
  EXPECT_TRUE(late.retriable);
}

TEST(GenerationCodec, AnEmbeddingArrivesExactly) {
  StreamEvent last = Last(FinishReason::kStop);
  last.embedding = {0.1f, -1e-30f, 3.4e38f};
  EXPECT_THAT(ThroughTheWire({last})[0].embedding, ElementsAre(0.1f, -1e-30f, 3.4e38f));
}

TEST(GenerationCodec, WhatMayComeNextArrives) {
  StreamEvent last = Last(FinishReason::kStop);
  last.next_tokens = scheduler::NextTokens{.vocabulary = 300,
                                           .allowed = 2,
                                           .may_end = true,
                                           .allowed_probability = 1e-9,
                                           .top = {{.id = 5, .bytes = "\xc3", .logprob = -21.5f}},
                                           .unconstrained = {{.id = 6, .bytes = "The", .logprob = -0.5f}}};
  const auto next = ThroughTheWire({last})[0].next_tokens;
  ASSERT_TRUE(next);
  EXPECT_EQ(next->allowed, 2);
  EXPECT_TRUE(next->may_end);
  EXPECT_EQ(next->allowed_probability, 1e-9);
  EXPECT_EQ(next->top[0].bytes, "\xc3");
  EXPECT_EQ(next->unconstrained[0].logprob, -0.5f);
}

TEST(GenerationCodec, ATimelineArrivesAlsoWithAnError) {
  using Kind = scheduler::TimelinePhase::Kind;
  for (const FinishReason reason : {FinishReason::kStop, FinishReason::kError}) {
    StreamEvent last = Last(reason);
    last.finish->phases = {{.kind = Kind::kQueued, .begin = 0, .end = 0.25},
                           {.kind = Kind::kPreempted, .begin = 0.25, .end = 1.5, .tokens = 3, .steps = 2}};
    EXPECT_EQ(ThroughTheWire({last})[0].finish->phases, last.finish->phases);
  }
}

TEST(GenerationCodec, NothingMayFollowTheLastEvent) {
  EventReader reader;
  ASSERT_TRUE(reader.Read(R"({"type":"end","tokens_out":0,"decode_time_ms":0,"stop_reason":"EOS"})"));
  EXPECT_FALSE(reader.Read(R"({"type":"token","text":"more"})"));
}

TEST(GenerationCodec, ARequestKeepsItsGrammarAsSource) {
  scheduler::GenerationRequest request{.prompt = {1}};
  request.grammar_source = std::make_shared<const text::GrammarSpec>(
      text::GrammarSpec{.kind = text::GrammarSpec::Kind::kRegex, .source = "[a-z]+"});
  request.deadline = kNow + std::chrono::milliseconds(1500);
  request.session = scheduler::SessionUse{.id = "s", .ttl = std::chrono::seconds(60)};
  const ExecuteRequest message = ToMessage(request, "r1", kNow);
  ASSERT_TRUE(message.grammar);
  EXPECT_EQ(message.grammar->source, "[a-z]+");
  EXPECT_EQ(message.deadline_ms, 1500);
  EXPECT_EQ(message.session->ttl_seconds, 60);
}

}  // namespace
}  // namespace inferflux::worker
