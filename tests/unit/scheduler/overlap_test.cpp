// An engine whose steps run on a device: what the scheduler does between Submit and Collect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

using ::testing::ElementsAre;

// Records the calls of one step. `between` runs once a step has been submitted.
struct Recorded {
  explicit Recorded(const StepPolicy& policy = {}, FakeEngineOptions options = {.async_steps = true})
      : driver(Babble, options, policy, FakeTokenizer(),
               {.on_admitted = [this] { ++admissions; },
                .on_under_way =
                    [this] {
                      if (between) std::exchange(between, nullptr)();
                    }}) {
    driver.engine.on_call = [this](std::string_view call) { calls.emplace_back(call); };
  }

  std::vector<std::string> Step() {
    calls.clear();
    EXPECT_TRUE(driver.core.Step());
    return calls;
  }

  std::function<void()> between;
  std::vector<std::string> calls;
  int admissions = 0;  // calls of the callback for admitted requests
  SchedulerDriver driver;
};

GenerationRequest Asks(std::string_view prompt) {
  GenerationRequest request{.prompt = Bytes(prompt)};
  request.max_tokens = 10;
  return request;
}

TEST(SchedulerOverlap, TheNextStepIsPreparedWhileOneRuns) {
  Recorded recorded;
  std::vector<size_t> items;
  recorded.driver.engine.on_step = [&](const engine::UnifiedBatch& batch) { items.push_back(batch.items.size()); };
  recorded.driver.Submit(Asks("the first"));
  EXPECT_THAT(recorded.Step(), ElementsAre("open", "submit", "collect"));
  std::shared_ptr<TokenStream> second;
  recorded.between = [&] { second = recorded.driver.Submit(Asks("another")); };
  EXPECT_EQ(recorded.admissions, 1);
  EXPECT_THAT(recorded.Step(), ElementsAre("submit", "open", "collect"));
  EXPECT_EQ(recorded.admissions, 3) << "before the step, and again while it runs";
  EXPECT_THAT(recorded.Step(), ElementsAre("submit", "collect")) << "it has its KV already";
  EXPECT_EQ(recorded.admissions, 4);
  EXPECT_THAT(items, ElementsAre(1u, 1u, 2u));
  recorded.driver.Drain();
  Received received;
  Read(*second, received);
  EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, Asks("another")));
}

TEST(SchedulerOverlap, WhatSharesWithTheStepWaitsForItsKv) {
  Recorded recorded;
  recorded.driver.Submit(Asks("a prompt that two ask"));
  std::shared_ptr<TokenStream> second;
  recorded.between = [&] { second = recorded.driver.Submit(Asks("a prompt that two ask")); };
  EXPECT_THAT(recorded.Step(), ElementsAre("open", "submit", "collect"));
  EXPECT_THAT(recorded.Step(), ElementsAre("open", "submit", "collect"));
  recorded.driver.Drain();
  Received received;
  Read(*second, received);
  EXPECT_EQ(received.finish->usage.cached_tokens, 20);
}

TEST(SchedulerOverlap, NobodyIsAdmittedBeyondTheLimitsOrLosesRoom) {
  for (const bool by_number : {true, false}) {
    Recorded recorded(by_number ? StepPolicy{.max_running = 1} : StepPolicy{},
                      {.blocks = by_number ? 64 : 8, .async_steps = true});
    recorded.driver.Submit(Asks("the first one of them"));  // 6 blocks
    recorded.between = [&] { recorded.driver.Submit(Asks("another that is long")); };
    if (by_number) {
      EXPECT_THAT(recorded.Step(), ElementsAre("open", "submit", "collect"));
    } else {
      EXPECT_THAT(recorded.Step(), ElementsAre("open", "submit", "open", "collect")) << "there is no room for it";
    }
    EXPECT_EQ(recorded.driver.core.stats().running, 1);
    EXPECT_EQ(recorded.driver.core.stats().queued, 1);
    recorded.driver.Drain();
    EXPECT_EQ(recorded.driver.core.stats().queued, 0);
    EXPECT_EQ(recorded.driver.engine.misuses, 0);
  }
}

TEST(SchedulerOverlap, ARequestThatIsCancelledMeanwhileEndsAfterTheStep) {
  Recorded recorded;
  const auto stream = recorded.driver.Submit(Asks("the first"));
  recorded.between = [&] { stream->Cancel(); };
  recorded.Step();
  EXPECT_EQ(recorded.driver.core.stats().running, 1);
  EXPECT_FALSE(recorded.driver.core.Step());
  Received received;
  Read(*stream, received);
  ASSERT_TRUE(received.done());
  EXPECT_EQ(received.finish->reason, FinishReason::kCancelled);
  EXPECT_EQ(recorded.driver.engine.misuses, 0);
  EXPECT_EQ(recorded.driver.engine.usage().blocks_used, 0);
}

TEST(SchedulerOverlap, AStepThatFailsInCollectEndsOnlyWhatIsAtFault) {
  Recorded recorded;
  recorded.driver.engine.fault = [](const engine::UnifiedBatch& batch) -> Status {
    for (const auto& item : batch.items) {
      if (item.tokens.front() == 'X') return Fail(ErrorCode::kInternal, "poison");
    }
    return {};
  };
  const auto good = recorded.driver.Submit(Asks("good")), bad = recorded.driver.Submit(Asks("X is bad"));
  std::shared_ptr<TokenStream> later;
  recorded.between = [&] { later = recorded.driver.Submit(Asks("later")); };
  recorded.driver.Drain();
  for (const auto& [stream, prompt] : {std::pair(good, "good"), std::pair(later, "later")}) {
    Received received;
    Read(*stream, received);
    EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, Asks(prompt)));
  }
  Received received;
  Read(*bad, received);
  EXPECT_EQ(received.finish->error.message, "poison");
}

}  // namespace
}  // namespace inferflux::scheduler
