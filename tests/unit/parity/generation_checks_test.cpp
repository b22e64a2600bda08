// The checks of whole generations, on a service that says what a test wants.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "parity/check_list.h"
#include "parity/toy_engine.h"

namespace inferflux::parity {
namespace {

using namespace std::chrono_literals;
using scheduler::Bytes;
using scheduler::FinishReason;
using scheduler::GenerationRequest;
using scheduler::StreamEvent;
using scheduler::TokenStream;

struct Reply {
  std::string text;
  std::vector<TokenId> tokens;
  FinishReason reason = FinishReason::kStop;
  int32_t completion_tokens = 0;
};

// An event for each byte of the text and for each token, and the end.
std::vector<StreamEvent> EventsOf(const Reply& reply) {
  std::vector<StreamEvent> events;
  for (const char byte : reply.text) events.push_back({.text = std::string(1, byte)});
  for (const TokenId token : reply.tokens) events.push_back({.tokens = {{.chosen = {.id = token}}}});
  events.push_back({.finish = scheduler::Finish{.reason = reply.reason,
                                                .error = {ErrorCode::kInternal, "the engine broke"},
                                                .usage = {.completion_tokens = reply.completion_tokens}}});
  return events;
}

struct Scripted final : scheduler::GenerationService {
  explicit Scripted(std::vector<Reply> replies) : replies(std::move(replies)) {}

  Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest request) override {
    const size_t number = requests.size();
    requests.push_back(std::move(request));
    if (number >= replies.size()) return Fail(ErrorCode::kUnavailable, "request {} is refused", number);
    streams.push_back(std::make_shared<TokenStream>());
    for (auto& event : EventsOf(replies[number])) streams.back()->Push(std::move(event));
    return streams.back();
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return numbers; }

  std::vector<Reply> replies;
  std::vector<GenerationRequest> requests;
  std::vector<std::shared_ptr<TokenStream>> streams;
  scheduler::SchedulerStats numbers;
};

const Oracle kOracle{.answers = {{.prompt = {1, 2}, .tokens = {11, 12, 13}, .gaps = {1, 1, 1}},
                                 {.prompt = {3}, .tokens = {21, 22}, .gaps = {2, 2}},
                                 {.prompt = {4}, .tokens = {31}, .gaps = {3}}}};
const Bounds kScriptBounds{.logits = 0.1, .logprob = 0.1, .tie = 0.5};

std::string CheckOn(Finding (*check)(const Generations&), Scripted& service) {
  return Said(check(
      {.scheduler = service, .tokenizer = scheduler::FakeTokenizer(), .oracle = kOracle, .bounds = kScriptBounds}));
}
std::string CheckOn(Finding (*check)(const Generations&), std::vector<Reply> replies) {
  Scripted service(std::move(replies));
  return CheckOn(check, service);
}

TEST(GenerationChecks, ARefusedRequestIsTheFinding) {
  for (const GenerationCheck& check : GenerationChecks()) {
    EXPECT_EQ(CheckOn(check.run, std::vector<Reply>{}), "error: request 0 is refused") << check.name;
    EXPECT_EQ(CheckOn(check.run, {{.reason = FinishReason::kError}, {}, {}, {}, {}, {}}),
              check.name == "cancellation" ? "error: a cancelled generation ended for another reason"
                                           : "error: the engine broke")
        << check.name;
  }
}

TEST(GenerationChecks, TheCrowdIsEachAnswerTwice) {
  const std::vector<Reply> right = {{.tokens = {11, 12, 13}, .reason = FinishReason::kLength},
                                    {.tokens = {21}},  // 22 is the end token
                                    {.tokens = {31, 32}}};
  auto twice = right;
  twice.insert(twice.end(), right.begin(), right.end());
  Scripted service(twice);
  EXPECT_EQ(CheckOn(CheckCrowd, service), "6 requests, 12 positions, 0 near ties");
  for (size_t i = 0; i < 6; ++i) {
    const Answer& answer = kOracle.answers[i % 3];
    EXPECT_EQ(service.requests[i].prompt, answer.prompt);
    EXPECT_EQ(service.requests[i].max_tokens, std::ssize(answer.tokens));
    EXPECT_EQ(service.requests[i].sampling.temperature, 0.0f);
    EXPECT_EQ(service.requests[i].top_logprobs, 0);
  }
  const auto first = [&](Reply reply) {
    auto replies = twice;
    replies[0] = std::move(reply);
    return CheckOn(CheckCrowd, replies);
  };
  EXPECT_EQ(first({.tokens = {11, 12}}), "6 requests, 12 positions, 0 near ties") << "13 may be the end token";
  EXPECT_EQ(first({.tokens = {11, 12}, .reason = FinishReason::kLength}),
            "error: after 2 tokens of an answer comes nothing, not 13, which is ahead by 1.000 in logits");
  EXPECT_EQ(first({.tokens = {11}}),
            "error: after 1 tokens of an answer comes nothing, not 12, which is ahead by 1.000 in logits");
  EXPECT_EQ(first({.tokens = {11, 13, 12}}),
            "error: after 1 tokens of an answer comes 13, not 12, which is ahead by 1.000 in logits");
}

TEST(GenerationChecks, AStopStringIsTheEndOfTheTextBefore) {
  Scripted service({{.text = "one two"}, {.text = "one"}});
  EXPECT_EQ(CheckOn(CheckStops, service), "3 of 7 bytes");
  EXPECT_EQ(service.requests[0].stop, std::vector<std::string>{});
  EXPECT_EQ(service.requests[1].stop, std::vector<std::string>{" two"});
  for (const auto& request : service.requests) {
    EXPECT_EQ(request.prompt, kOracle.answers[0].prompt);
    EXPECT_EQ(request.max_tokens, 3);
  }
  Scripted characters({{.text = "\xC3\xA9x"}, {.text = ""}});
  EXPECT_EQ(CheckOn(CheckStops, characters), "0 of 3 bytes");
  EXPECT_EQ(characters.requests[1].stop, std::vector<std::string>{"\xC3\xA9x"}) << "not within a character";
  EXPECT_EQ(CheckOn(CheckStops, {{.text = "abab"}, {.text = ""}}), "0 of 4 bytes") << "where it comes first";
  EXPECT_EQ(CheckOn(CheckStops, {{.text = "ab"}, {.text = "a"}}), "1 of 2 bytes");
  EXPECT_EQ(CheckOn(CheckStops, {{.text = "a"}, {}}), "error: a text of 1 bytes cannot be split");
  EXPECT_EQ(CheckOn(CheckStops, {{.text = "abcd"}, {.text = "abc"}}),
            "error: with the stop string 'cd' the text was 'abc', not 'ab'");
  EXPECT_EQ(CheckOn(CheckStops, {{.text = "abcd"}, {.text = "ab", .reason = FinishReason::kLength}}),
            "error: with the stop string 'cd' the text was 'ab', not 'ab'");
  EXPECT_EQ(CheckOn(CheckStops, {{.text = "abcd"}}), "error: request 1 is refused");
}

TEST(GenerationChecks, TheLengthIsExact) {
  Scripted service({{.reason = FinishReason::kLength, .completion_tokens = 9}});
  EXPECT_EQ(CheckOn(CheckLength, service), "9 tokens, past the end token");
  EXPECT_EQ(service.requests[0].prompt, kOracle.answers[1].prompt);
  EXPECT_EQ(service.requests[0].max_tokens, 9);
  EXPECT_TRUE(service.requests[0].ignore_eos);
  EXPECT_EQ(CheckOn(CheckLength, {{.reason = FinishReason::kLength, .completion_tokens = 8}}),
            "error: 9 tokens were requested, and 8 came");
  EXPECT_EQ(CheckOn(CheckLength, {{.reason = FinishReason::kStop, .completion_tokens = 9}}),
            "error: 9 tokens were requested, and 9 came");
}

TEST(GenerationChecks, ACancellationEndsTheGenerationAndFreesItsPlace) {
  const Reply cancelled{.tokens = {31, 32}, .reason = FinishReason::kCancelled, .completion_tokens = 2};
  Scripted service({cancelled, {}});
  service.numbers.running = 1;  // the last one, whose step has not ended
  EXPECT_EQ(CheckOn(CheckCancellation, service), "after 2 tokens");
  EXPECT_TRUE(service.streams[0]->cancelled());
  EXPECT_FALSE(service.streams[1]->cancelled());
  const GenerationRequest& request = service.requests[0];
  EXPECT_EQ(request.prompt, kOracle.answers[2].prompt);
  EXPECT_EQ(request.max_tokens, 0);
  EXPECT_EQ(request.top_logprobs, 0);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(service.requests[1].prompt, kOracle.answers[0].prompt);

  EXPECT_EQ(CheckOn(CheckCancellation, {{.reason = FinishReason::kStop}, {}}),
            "error: a cancelled generation ended for another reason");
  EXPECT_EQ(CheckOn(CheckCancellation, {cancelled}), "error: request 1 is refused");
  Scripted runs({cancelled, {}}), queues({cancelled, {}});
  runs.numbers.running = 2;
  EXPECT_EQ(CheckOn(CheckCancellation, runs), "error: 2 sequences still run after all have ended");
  queues.numbers.queued = 1;
  EXPECT_EQ(CheckOn(CheckCancellation, queues), "error: 0 sequences still run after all have ended");
}

TEST(GenerationChecks, EachGrammarIsTriedAtThreeTemperatures) {
  const char* texts[] = {R"({"name":"a","age":1})", "ab cd.", "perhaps", "1+2"};
  std::vector<Reply> right;
  for (const char* text : texts) right.insert(right.end(), 3, {.text = text});
  Scripted service(right);
  EXPECT_EQ(CheckOn(CheckGrammars, service), "12 texts");
  for (size_t i = 0; i < 12; ++i) {
    const GenerationRequest& request = service.requests[i];
    EXPECT_EQ(request.prompt, kOracle.answers[0].prompt);
    EXPECT_EQ(request.sampling.temperature, static_cast<float>(i % 3));
    EXPECT_EQ(request.sampling.seed, 7u);
    EXPECT_EQ(request.max_tokens, 128);
    EXPECT_NE(request.grammar, nullptr);
  }
  const auto at = [&](size_t number, Reply reply) {
    auto replies = right;
    replies[number] = std::move(reply);
    return CheckOn(CheckGrammars, replies);
  };
  EXPECT_EQ(at(4, {.text = "ab c."}),
            "error: at temperature 1 'ab c.' does not match '[a-z]{2,8}( [a-z]{2,8}){1,3}\\.'");
  EXPECT_EQ(at(5, {.text = "ab cd"}),
            "error: at temperature 2 'ab cd' does not match '[a-z]{2,8}( [a-z]{2,8}){1,3}\\.'");
  EXPECT_EQ(at(6, {.text = "yes", .reason = FinishReason::kLength}), "error: at temperature 0 'yes' does not match ''");
}

// Nothing has arrived when the check begins to read.
TEST(GenerationChecks, EventsMayArriveLater) {
  struct Late final : scheduler::GenerationService {
    Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest) override {
      auto stream = std::make_shared<TokenStream>();
      writer = std::jthread([stream] {
        for (auto& event : EventsOf({.text = "ab", .reason = FinishReason::kLength, .completion_tokens = 9})) {
          std::this_thread::sleep_for(20ms);
          stream->Push(std::move(event));
        }
      });
      return stream;
    }
    void Drain(bool) override {}
    void Stop() override {}
    scheduler::SchedulerStats stats() const override { return {}; }
    std::jthread writer;
  } late;
  EXPECT_EQ(
      Said(CheckLength(
          {.scheduler = late, .tokenizer = scheduler::FakeTokenizer(), .oracle = kOracle, .bounds = kScriptBounds})),
      "9 tokens, past the end token");
}

}  // namespace
}  // namespace inferflux::parity
