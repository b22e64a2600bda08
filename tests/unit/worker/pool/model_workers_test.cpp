// Which worker of a model gets a request, and the sums of what they do.
#include "worker/pool/model_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <numeric>
#include <string>
#include <vector>

#include "worker/pool/fake_process.h"

namespace inferflux::worker {
namespace {

using ::testing::HasSubstr;

scheduler::GenerationRequest Prompt(size_t tokens, TokenId from = 0) {
  scheduler::GenerationRequest out;
  out.prompt.resize(tokens);
  std::iota(out.prompt.begin(), out.prompt.end(), from);
  return out;
}

class ModelWorkersTest : public WorkersTest {
 protected:
  std::string Metrics() const { return prometheus::TextSerializer().Serialize(registry_.Collectable().Collect()); }
  static std::string IdOf(const std::shared_ptr<WorkerLink>& link) { return link ? link->worker_id : "none"; }
};

TEST_F(ModelWorkersTest, WithoutAWorkerThatServesThereIsNoRoute) {
  ModelWorkers workers("m", registry_);
  workers.Add(Make(1), false);
  const auto routed = workers.Route(Prompt(3), nullptr);
  ASSERT_FALSE(routed);
  EXPECT_EQ(routed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(routed.error().message, "no worker of the model 'm' serves at the moment; try again in a second");
  EXPECT_TRUE(workers.Links().empty());
  EXPECT_EQ(workers.RoutePrefill(Prompt(1000)), nullptr);
}

TEST_F(ModelWorkersTest, ARequestGoesWhereItsPrefixIsAndNotToTheExcepted) {
  ModelWorkers workers("m", registry_);
  for (const int number : {1, 2}) workers.Add(Serving(number), false);
  EXPECT_EQ(workers.Links().size(), 2u);
  const auto first = *workers.Route(Prompt(64), nullptr);
  first->in_flight = 3;
  EXPECT_EQ(*workers.Route(Prompt(100), nullptr), first);
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_worker_prefix_tokens_total{model=\"m\"} 64"));
  EXPECT_NE(*workers.Route(Prompt(32), first.get()), first);
  EXPECT_NE(*workers.Route(Prompt(64, 5000), nullptr), first) << "the other one has less to do";
  workers.Forget(first->worker_id == "cpu-1" ? 1 : 2);
  EXPECT_NE(*workers.Route(Prompt(100), nullptr), first) << "its KV is gone";
  workers.CountRetry();
  workers.CountPrefill();
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_worker_retries_total{model=\"m\"} 1"));
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_worker_prefills_total{model=\"m\"} 1"));
}

TEST_F(ModelWorkersTest, ALongPromptThatNobodyKnowsIsComputedElsewhereFirst) {
  ModelWorkers workers("m", registry_);
  const auto prompts = Serving(1), other = Serving(2);
  workers.Add(prompts, true);
  EXPECT_EQ(IdOf(workers.RoutePrefill(Prompt(256))), "none") << "there is nobody to go on with it";
  EXPECT_EQ(IdOf(*workers.Route(Prompt(3), nullptr)), "cpu-1") << "but it serves where nobody else does";
  workers.Add(other, false);
  EXPECT_EQ(IdOf(*workers.Route(Prompt(3), nullptr)), "cpu-2");
  EXPECT_EQ(IdOf(workers.RoutePrefill(Prompt(255))), "none");
  EXPECT_EQ(IdOf(workers.RoutePrefill(Prompt(256))), "cpu-1");
  for (const auto flag : {&scheduler::GenerationRequest::embed, &scheduler::GenerationRequest::score}) {
    auto pooled = Prompt(300);
    pooled.*flag = true;
    EXPECT_EQ(IdOf(workers.RoutePrefill(pooled)), "none");
  }
  auto scored = Prompt(300), told = Prompt(300);
  scored.next_tokens.emplace();
  told.prompt_logprobs = 0;
  EXPECT_EQ(IdOf(workers.RoutePrefill(scored)), "none");
  EXPECT_EQ(IdOf(workers.RoutePrefill(told)), "none");
  ASSERT_EQ(IdOf(*workers.Route(Prompt(96), nullptr)), "cpu-2");
  EXPECT_EQ(IdOf(workers.RoutePrefill(Prompt(96 + 255))), "none") << "the rest is short";
  EXPECT_EQ(IdOf(workers.RoutePrefill(Prompt(96 + 256))), "cpu-1");
  EXPECT_EQ(IdOf(*workers.Route(Prompt(3), other->link().get())), "cpu-1") << "better than none";
}

TEST_F(ModelWorkersTest, WhereNoWorkerForPromptsServesTheOthersComputeThem) {
  ModelWorkers workers("m", registry_);
  workers.Add(Make(1), true);
  workers.Add(Serving(2), false);
  EXPECT_EQ(IdOf(workers.RoutePrefill(Prompt(1000))), "none");
  EXPECT_EQ(IdOf(*workers.Route(Prompt(1000), nullptr)), "cpu-2");
  ASSERT_EQ(workers.Links().size(), 1u);
  EXPECT_EQ(IdOf(workers.Links()[0]), "cpu-2");
  ModelWorkers alike("m", registry_);
  alike.Add(workers.workers()[1], false);
  EXPECT_EQ(IdOf(alike.RoutePrefill(Prompt(1000))), "none") << "none of them only computes prompts";
}

TEST_F(ModelWorkersTest, TheirLoadIsTheSumOfTheLastHeartbeats) {
  ModelWorkers workers("m", registry_);
  int64_t step = 1;
  for (const int number : {1, 2}) {
    const auto worker = Serving(number);
    workers.Add(worker, false);
    worker->link()->in_flight = static_cast<int32_t>(5 * step);
    worker->OnHeartbeat({.worker_id = worker->id(),
                         .uri = info_.uri(),
                         .state = WorkerState::kReady,
                         .load = {.running = 99,
                                  .queued = static_cast<int32_t>(6 * step),
                                  .kv_blocks_used = 7 * step,
                                  .kv_blocks_free = 8 * step,
                                  .kv_blocks_cached = 9 * step,
                                  .preemptions = 10 * step,
                                  .drafted_tokens = 11 * step,
                                  .accepted_tokens = 12 * step,
                                  .graphs = 13 * step,
                                  .graph_replays = 14 * step,
                                  .graph_refusals = 15 * step,
                                  .retry_after_seconds = static_cast<int32_t>(20 - step)}});
    step = 100;
  }
  const scheduler::SchedulerStats sum = workers.stats();
  EXPECT_EQ(sum.running, 505) << "those that the pool has sent";
  EXPECT_EQ(sum.queued, 606);
  EXPECT_EQ(sum.kv_blocks_used, 707);
  EXPECT_EQ(sum.kv_blocks_free, 808);
  EXPECT_EQ(sum.kv_blocks_cached, 909);
  EXPECT_EQ(sum.preemptions, 1010);
  EXPECT_EQ(sum.drafted_tokens, 1111);
  EXPECT_EQ(sum.accepted_tokens, 1212);
  EXPECT_EQ(sum.graphs, 1313);
  EXPECT_EQ(sum.graph_replays, 1414);
  EXPECT_EQ(sum.graph_refusals, 1515);
  EXPECT_EQ(sum.retry_after_seconds, 19);
  workers.Stop();
  for (const auto& worker : workers.workers()) EXPECT_TRUE(worker->ended());
  EXPECT_TRUE(workers.Links().empty());
}

}  // namespace
}  // namespace inferflux::worker
