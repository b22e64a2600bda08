#include "scheduler/queue/admission.h"

#include <gtest/gtest.h>

#include "scheduler/fake_engine.h"
#include "scheduler/queue/waiting_queue.h"

namespace inferflux::scheduler {
namespace {

const engine::EngineInfo kEngine{.vocab_size = 300, .context = 100, .kv_tokens = 80};

void ExpectRefused(GenerationRequest request, const std::string& what) {
  const auto checked = CheckRequest(request, kEngine);
  ASSERT_FALSE(checked) << what;
  EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(checked.error().message.find(what), std::string::npos) << checked.error().message;
}

TEST(Admission, WhatCanNeverFitIsRefusedWithTheLimit) {
  ExpectRefused({}, "no tokens");
  ExpectRefused({.prompt = std::vector<TokenId>(81, 1)}, "at most 81 tokens");
  ExpectRefused({.prompt = std::vector<TokenId>(50, 1), .max_tokens = 32}, "at most 31 tokens");
  ExpectRefused({.prompt = {1, 300}}, "tokens are 0 to 299");
  ExpectRefused({.prompt = {-1}}, "prompt token -1");
  ExpectRefused({.prompt = {1}, .sampling = {.logit_bias = {{300, 1.0f}}}}, "logit_bias of token 300");
  ExpectRefused({.prompt = {1}, .max_tokens = -1}, "max_tokens");
  ExpectRefused({.prompt = {1}, .stop = {""}}, "stop string");
  ExpectRefused({.prompt = {1}, .stop = {"\xff"}}, "stop string");
  ExpectRefused({.prompt = {1}, .top_logprobs = 21}, "top_logprobs");
}

TEST(Admission, TellsHowManyTokensMayBeGenerated) {
  EXPECT_EQ(*CheckRequest({.prompt = std::vector<TokenId>(50, 1)}, kEngine), 31);
  EXPECT_EQ(*CheckRequest({.prompt = std::vector<TokenId>(50, 1), .max_tokens = 31}, kEngine), 31);
  EXPECT_EQ(*CheckRequest({.prompt = {1}, .max_tokens = 5}, kEngine), 5);
}

class Waiting : public ::testing::Test {
 protected:
  Request* Add(const std::string& account, int32_t priority = 0, std::chrono::seconds submitted = {}) {
    GenerationRequest spec{.prompt = {1}, .account = account, .priority = priority};
    auto request = std::make_unique<Request>(Request{.number = number_++,
                                                     .spec = spec,
                                                     .stream = std::make_shared<TokenStream>(),
                                                     .output = OutputText(tokenizer_, {}, {}),
                                                     .submitted = TimePoint(submitted)});
    Request* added = request.get();
    shares_.Enter(account);
    queue_.Push(std::move(request));
    return added;
  }
  Request* Next(std::chrono::seconds now = {}) {
    return queue_.Next(TimePoint(now), shares_, [](const Request&) { return true; });
  }

  std::shared_ptr<const text::Tokenizer> tokenizer_ = FakeTokenizer();
  uint64_t number_ = 0;
  WaitingQueue queue_{std::chrono::seconds(10)};
  TokenShares shares_;
};

TEST_F(Waiting, TheLeastServedAccountGoesNextThenTheEarliest) {
  Request* const first = Add("greedy");
  Add("greedy");
  Request* const modest = Add("modest");
  EXPECT_EQ(Next(), first);
  shares_.Charge("greedy", 1);
  EXPECT_EQ(Next(), modest);
  shares_.Charge("modest", 2);
  EXPECT_EQ(Next(), first);
}

TEST_F(Waiting, AnAccountThatComesBackHasNoCreditForItsAbsence) {
  Add("busy");
  shares_.Charge("busy", 1000);
  Add("late");
  EXPECT_EQ(shares_.served("late"), 999) << "but it comes before those that are there";
}

TEST_F(Waiting, PriorityGoesFirstButWaitingCatchesUp) {
  Request* const patient = Add("a", 0, std::chrono::seconds(0));
  Request* const urgent = Add("b", 1, std::chrono::seconds(9));
  EXPECT_EQ(Next(std::chrono::seconds(9)), urgent);
  Request* const newest = Add("c", 1, std::chrono::seconds(30));
  EXPECT_EQ(Next(std::chrono::seconds(30)), patient);
  EXPECT_NE(Next(std::chrono::seconds(30)), newest);
}

TEST_F(Waiting, WhoWasPreemptedGoesBeforeAll) {
  Add("a", 5);
  Request* const preempted = Add("b");
  preempted->was_admitted = true;
  EXPECT_EQ(Next(), preempted);
}

}  // namespace
}  // namespace inferflux::scheduler
