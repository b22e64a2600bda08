// What a RemoteScheduler counts of each request, and what it does where workers are gone or say something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/queue/token_bucket.h"
#include "worker/contract/codec.h"
#include "worker/contract/generation_codec.h"
#include "worker/remote/scripted_worker.h"

namespace inferflux::worker {
namespace {

using Action = scheduler::SessionCommand::Action;
using ::testing::HasSubstr;

const std::string kCosts =
    "data: {\"type\":\"metrics\",\"prompt_tokens\":10,\"completion_tokens\":4,\"cached_tokens\":3,\"drafted_tokens\":2,"
    "\"accepted_tokens\":1,\"time_to_first_token_ms\":1}\n\n";

std::string TextEvent(const std::string& text) { return "data: {\"type\":\"token\",\"text\":\"" + text + "\"}\n\n"; }

class RemoteCountsTest : public RemoteAnswersTest {
 protected:
  std::string Metrics() const { return prometheus::TextSerializer().Serialize(registry_.Collectable().Collect()); }
  // Where nobody listens.
  std::shared_ptr<WorkerLink> Nowhere(const std::string& id) {
    auto out = std::make_shared<WorkerLink>();
    out->worker_id = id;
    out->client = std::make_shared<net::AsyncClient>(io_, net::ServerAddress{"127.0.0.1", 1, ""});
    return out;
  }
};

TEST_F(RemoteCountsTest, AnAnswerIsCountedChargedAndRemembered) {
  first_.body = TextEvent("a") + TextEvent("b") + TextEvent("c") + kCosts + kEnd;
  GenerationRequest request = Request();
  request.request_id = "client";
  request.account = "acc";
  request.account_limits.tokens = std::make_shared<scheduler::TokenBucket>();
  const auto now = std::chrono::steady_clock::now();
  request.account_limits.tokens->SetRate(6, now);
  EXPECT_EQ(Ask(request), "abc|stop");
  for (const char* line : {"inferflux_model_prompt_tokens_total{backend=\"cpu\",model=\"m\"} 7\n",
                           "inferflux_cached_prompt_tokens_total{backend=\"cpu\",model=\"m\"} 3\n",
                           "inferflux_model_completion_tokens_total{backend=\"cpu\",model=\"m\"} 4\n",
                           "inferflux_drafted_tokens_total{backend=\"cpu\",model=\"m\"} 2\n",
                           "inferflux_accepted_tokens_total{backend=\"cpu\",model=\"m\"} 1\n",
                           "inferflux_time_to_first_token_seconds_count{backend=\"cpu\",model=\"m\"} 1\n",
                           "inferflux_inter_token_latency_seconds_count{backend=\"cpu\",model=\"m\"} 2\n",
                           "inferflux_time_to_first_token_seconds_bucket{backend=\"cpu\",model=\"m\",le=\"20\"} 1\n",
                           "inferflux_inter_token_latency_seconds_bucket{backend=\"cpu\",model=\"m\",le=\"20\"} 2\n"}) {
    EXPECT_THAT(Metrics(), HasSubstr(line));
  }
  // 10 - 3 + 4 tokens are 5 too many, of which a tenth leaks out in a second.
  const int32_t wait = request.account_limits.tokens->SecondsUntilFree(std::chrono::steady_clock::now());
  EXPECT_LE(wait, 51);
  EXPECT_GE(wait, 30);
  ASSERT_NE(remote_->history(), nullptr);
  const auto found = remote_->history()->Find("client");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].account, "acc");
  EXPECT_EQ(found[0].reason, FinishReason::kStop);
  EXPECT_GE(found[0].seconds, 0);
  EXPECT_LT(found[0].seconds, 20);
  EXPECT_EQ(found[0].usage.prompt_tokens, 10);
  EXPECT_EQ(found[0].usage.completion_tokens, 4);
  EXPECT_EQ(found[0].usage.cached_tokens, 3);
}

TEST_F(RemoteCountsTest, WhatALostWorkerSaidOfItsCostsDoesNotCount) {
  first_.body = kCosts;
  second_.body = TextEvent("a") + kEnd;
  GenerationRequest request = Request();
  request.request_id = "client";
  EXPECT_EQ(Ask(request), "a|stop");
  EXPECT_EQ(directory_->retries, 1);
  const auto found = remote_->history()->Find("client");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].usage.prompt_tokens, 0);
  EXPECT_TRUE(Idle());
  const auto again = FromText<ExecuteRequest>(second_.asked().at(0).substr(9));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->request_id, "w-1-1") << "the request keeps its name";
}

TEST_F(RemoteCountsTest, AWorkerThatCannotBeReachedIsLostAtOnce) {
  second_.body = TextEvent("a") + kEnd;
  directory_->links[0] = Nowhere("w-0");
  EXPECT_EQ(Ask(), "a|stop");
  EXPECT_EQ(directory_->retries, 1);
  directory_->links[1] = Nowhere("w-9");
  EXPECT_THAT(Ask(), HasSubstr(Code(ErrorCode::kUnavailable) + "worker w-9 was lost: cannot connect to 127.0.0.1:1: "));
}

TEST_F(RemoteCountsTest, APromptIsComputedForTheSameTraceAndDeadline) {
  directory_->prefill = directory_->links[1];
  first_.body = second_.body = kEnd;
  second_.sessions_body = R"({"sessions":[]})";
  GenerationRequest request = Request();
  request.trace_parent = "trace";
  request.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  EXPECT_EQ(Ask(request), "|stop");
  ASSERT_EQ(second_.asked().size(), 2u);
  for (const std::string& asked : {second_.asked()[0], first_.asked().at(0)}) {
    const auto sent = FromText<ExecuteRequest>(asked.substr(9));
    ASSERT_TRUE(sent) << sent.error().Joined();
    EXPECT_EQ(sent->trace_parent, "trace");
    ASSERT_TRUE(sent->deadline_ms);
    EXPECT_LE(*sent->deadline_ms, 100'000);
    EXPECT_GE(*sent->deadline_ms, 50'000);
  }
  EXPECT_TRUE(Idle());
  // A worker for prompts that is not there holds nothing up.
  directory_->prefill = Nowhere("w-0");
  EXPECT_EQ(Ask(request), "|stop");
  EXPECT_EQ(directory_->prefills, 1);
  EXPECT_FALSE(FromText<ExecuteRequest>(first_.asked().at(1).substr(9))->session);
}

TEST_F(RemoteCountsTest, SessionsOfWorkersThatAreGoneOrConfusedAreLeftOut) {
  second_.sessions_body =
      R"({"sessions":[{"id":"b","tier":"memory","tokens":1,"bytes":2,"on_disk":false,"expires_in":3}]})";
  directory_->links[0] = Nowhere("w-0");
  EXPECT_EQ(Sessions(Action::kList), "b ");
  EXPECT_EQ(Sessions(Action::kSave), "b ");
  directory_->links.pop_back();
  EXPECT_THAT(Sessions(Action::kList), HasSubstr("cannot connect to 127.0.0.1:1: "));
  directory_->links = {first_.Link(io_, "w-1")};
  for (const auto& [status, body] :
       std::vector<std::pair<int, std::string>>{{200, "oops"}, {404, second_.sessions_body}, {500, ""}}) {
    first_.sessions_status = status;
    first_.sessions_body = body;
    EXPECT_EQ(Sessions(Action::kList), "worker w-1 answered " + std::to_string(status)) << body;
  }
}

}  // namespace
}  // namespace inferflux::worker
