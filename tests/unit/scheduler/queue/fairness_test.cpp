// One account that asks for much beside one that asks for little: sequences, KV memory and steps are shared.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "scheduler/scheduler_driver.h"
#include "scheduler/step_sharing.h"

namespace inferflux::scheduler {
namespace {

using Streams = std::vector<std::shared_ptr<TokenStream>>;

GenerationRequest Of(const std::string& account, const std::string& prompt, int32_t max_tokens) {
  GenerationRequest request{.prompt = Bytes(prompt), .max_tokens = max_tokens};
  request.account = account;
  request.sampling.seed = prompt.size();
  return request;
}

Streams Flood(SchedulerDriver& driver, int count, int32_t max_tokens, size_t prompt = 4) {
  Streams out;
  for (int i = 0; i < count; ++i) {
    const std::string text = std::string(prompt, static_cast<char>('a' + i % 26)) + std::to_string(i);
    out.push_back(driver.Submit(Of("greedy", text, max_tokens)));
  }
  return out;
}

// The steps until the request has ended, at most `most`.
int StepsOf(SchedulerDriver& driver, const GenerationRequest& request, int most) {
  const auto stream = driver.Submit(request);
  Received received;
  int steps = 0;
  while (!received.done() && steps < most) {
    EXPECT_TRUE(driver.core.Step());
    ++steps;
    Read(*stream, received);
  }
  EXPECT_TRUE(received.done()) << "not done after " << steps << " steps";
  if (received.done()) {
    EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, request));
  }
  return steps;
}

TEST(Fairness, AFewTokensDoNotWaitForAnAccountThatHoldsEverySequence) {
  SchedulerDriver driver(Babble, {.blocks = 2000, .max_sequences = 8, .context = 1000});
  const Streams greedy = Flood(driver, 128, 700);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(driver.core.Step());
  ASSERT_EQ(driver.core.stats().running, 8);
  EXPECT_LE(StepsOf(driver, Of("polite", "hello", 4), 700), 4 + 1);
  EXPECT_EQ(driver.core.stats().preemptions, 1) << "one sequence is enough";
}

TEST(Fairness, NorForAnAccountThatHoldsTheMemory) {
  SchedulerDriver driver(Babble, {.blocks = 64, .block_size = 4, .max_sequences = 16, .context = 200});
  const Streams greedy = Flood(driver, 12, 150, 40);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(driver.core.Step());
  EXPECT_LE(StepsOf(driver, Of("polite", "a prompt of a few blocks", 4), 700), 4 + 2);
}

TEST(Fairness, NorForLongPromptsOfAnother) {
  SchedulerDriver driver(Babble, {.blocks = 4000, .max_sequences = 64, .context = 2000}, {.max_batch_tokens = 16});
  const Streams greedy = Flood(driver, 8, 4, 1000);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(driver.core.Step());
  EXPECT_LE(StepsOf(driver, Of("polite", "hello", 4), 700), 4 + 2);
}

TEST(Fairness, APriorityIsWorthNothingAgainstAnotherAccount) {
  SchedulerDriver driver(Babble, {.blocks = 2000, .max_sequences = 4, .context = 1000});
  Streams greedy;
  for (int i = 0; i < 20; ++i) {
    GenerationRequest urgent = Of("greedy", "first! " + std::to_string(i), 500);
    urgent.priority = 1'000'000;
    greedy.push_back(driver.Submit(std::move(urgent)));
  }
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(driver.core.Step());
  EXPECT_LE(StepsOf(driver, Of("polite", "hello", 4), 700), 4 + 1);
}

TEST(Fairness, WhatGaveWayGoesOnWithTheSameText) {
  SchedulerDriver driver(Babble, {.blocks = 40, .block_size = 4, .max_sequences = 4, .context = 100});
  const Streams greedy = Flood(driver, 6, 60);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 10; ++i) driver.core.Step();
    StepsOf(driver, Of("polite", "hello" + std::to_string(round), 4), 60);
  }
  driver.Drain();
  EXPECT_GT(driver.core.stats().preemptions, 0) << "the test must exercise preemption";
  for (size_t i = 0; i < greedy.size(); ++i) {
    Received received;
    Read(*greedy[i], received);
    const std::string prompt = std::string(4, static_cast<char>('a' + i)) + std::to_string(i);
    EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, Of("greedy", prompt, 60)));
    EXPECT_EQ(received.finishes, 1);
  }
  EXPECT_EQ(driver.engine.usage().blocks_used, 0);
}

// Two accounts that both want everything, on an engine that runs one sequence at a time.
TEST(Fairness, TwoGreedyAccountsTakeTurnsInSlicesNotInSteps) {
  SchedulerDriver driver(Babble, {.blocks = 4000, .max_sequences = 1, .context = 4000});
  Streams streams;
  for (const char* account : {"one", "two"}) streams.push_back(driver.Submit(Of(account, account, 3000)));
  Received one, two;
  for (int step = 0; step < 3000; ++step) {
    ASSERT_TRUE(driver.core.Step());
    Read(*streams[0], one);
    Read(*streams[1], two);
  }
  EXPECT_GE(driver.core.stats().preemptions, 1);
  EXPECT_LE(driver.core.stats().preemptions, 3000 / 512);
  EXPECT_GT(one.text.size(), 750u);
  EXPECT_GT(two.text.size(), 750u);
}

// The memory holds one of the two requests. What a switch makes the longer one compute again must not count as service,
// or it would give way before it has made a token.
TEST(Fairness, ALongRequestMakesProgressBesideAShorterOne) {
  SchedulerDriver driver(Babble, {.blocks = 1500, .max_sequences = 8, .context = 6000}, {.max_batch_tokens = 256});
  const GenerationRequest shorter = Of("one", std::string(1000, 's'), 4000);
  const GenerationRequest longer = Of("two", std::string(4000, 'l'), 1500);
  const auto one = driver.Submit(shorter), two = driver.Submit(longer);
  Received first, second;
  int steps = 0;
  for (; !(first.done() && second.done()); ++steps) {
    ASSERT_LT(steps, 12000);
    ASSERT_TRUE(driver.core.Step());
    Read(*one, first);
    Read(*two, second);
    if (steps == 5000) {
      EXPECT_GT(second.text.size(), 200u) << "not only when the other has ended";
    }
  }
  EXPECT_LE(driver.core.stats().preemptions, 20);
  SchedulerDriver roomy(Babble, {.blocks = 3000, .context = 6000});
  EXPECT_EQ(second.text, roomy.Generate(longer).text);
}

TEST(Fairness, SequencesAreDividedEquallyAndStayDivided) {
  SchedulerDriver driver(Babble, {.blocks = 4000, .max_sequences = 8, .context = 1000});
  const Streams greedy = Flood(driver, 20, 600);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(driver.core.Step());
  Streams other;
  for (int i = 0; i < 20; ++i) other.push_back(driver.Submit(Of("other", "number " + std::to_string(i), 600)));
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(driver.core.Step());
    for (const auto& stream : greedy)
      while (stream->TryPop()) continue;
    for (const auto& stream : other)
      while (stream->TryPop()) continue;
  }
  // Four of the eight move to the newcomer, once.
  EXPECT_GE(driver.core.stats().preemptions, 3);
  EXPECT_LE(driver.core.stats().preemptions, 4);
}

TEST(Fairness, AnAccountRunsNoMoreSequencesThanItsLimit) {
  SchedulerDriver driver(Babble, {.blocks = 2000, .max_sequences = 8, .context = 1000});
  Streams greedy;
  for (int i = 0; i < 10; ++i) {
    GenerationRequest request = Of("greedy", "text " + std::to_string(i), 500);
    request.account_limits.running = 3;
    greedy.push_back(driver.Submit(request));
  }
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(driver.core.stats().running, 3);
  const auto polite = driver.Submit(Of("polite", "hello", 4));
  ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(driver.core.stats().running, 4);
  EXPECT_EQ(driver.core.stats().preemptions, 0);
}

TEST(Fairness, ARefusedClientIsToldByTheRateOfItsOwnAccount) {
  SchedulerDriver driver(Babble, {.blocks = 2000, .max_sequences = 1, .context = 1000});
  driver.engine.on_step = [&](const engine::UnifiedBatch&) { driver.now += std::chrono::milliseconds(500); };
  const Streams greedy = Flood(driver, 6, 4);
  const auto polite = driver.Submit(Of("polite", "hello", 4));
  Received received;
  while (!received.done()) {
    ASSERT_TRUE(driver.core.Step());
    Read(*polite, received);
  }
  const AccountLoads loads = driver.core.account_loads();
  ASSERT_TRUE(loads.contains("greedy"));
  EXPECT_FALSE(loads.contains("polite")) << "it does not wait";
  const AccountLoad& own = loads.at("greedy");
  EXPECT_EQ(own.queued, driver.core.stats().queued);
  EXPECT_GE(own.retry_after_seconds, own.queued) << "each takes two seconds alone, and half of them beside another";
}

int32_t RowsOf(const engine::UnifiedBatch& batch) {
  int32_t rows = 0;
  for (const auto& item : batch.items) rows += static_cast<int32_t>(item.tokens.size());
  return rows;
}

// An engine whose steps take `fixed` and `row` for each row, in simulated time; `rows` has the rows of each step.
struct TimedDriver : SchedulerDriver {
  TimedDriver(std::chrono::milliseconds fixed, std::chrono::milliseconds row)
      : SchedulerDriver(Babble, {.blocks = 20000, .max_sequences = 64, .context = 4000}) {
    engine.on_step = [this, fixed, row](const engine::UnifiedBatch& batch) {
      rows.push_back(RowsOf(batch));
      now += fixed + rows.back() * row;
    };
  }
  std::vector<int32_t> rows;
};

using std::chrono::milliseconds;

TEST(Fairness, AShortPromptIsNotComputedWithAllRowsOfAnAccountThatWasServedMore) {
  TimedDriver driver(milliseconds(1), milliseconds(1));
  const Streams greedy = Flood(driver, 60, 700);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(driver.core.Step());
  ASSERT_EQ(driver.rows.back(), 60);
  const auto polite = driver.Submit(Of("polite", "Hello", 4));
  ASSERT_TRUE(driver.core.Step());
  Received received;
  Read(*polite, received);
  EXPECT_EQ(received.text.size(), 1u) << "a first token";
  EXPECT_EQ(driver.rows.back(), 5) << "of its prompt alone";
  ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(driver.rows.back(), 61) << "its decodes are computed with the others";
}

TEST(Fairness, RowsStayTogetherWhereAStepCostsTheSameWithoutThem) {
  TimedDriver driver(milliseconds(500), milliseconds(1));
  const Streams greedy = Flood(driver, 60, 700);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(driver.core.Step());
  const auto rows_of = [&](const char* prompt) {
    const auto polite = driver.Submit(Of("polite", prompt, 1));
    EXPECT_TRUE(driver.core.Step());
    const int32_t rows = driver.rows.back();
    EXPECT_TRUE(driver.core.Step());
    return rows;
  };
  EXPECT_EQ(rows_of("Hello"), 5) << "tried, and costs as much";
  EXPECT_EQ(rows_of("World"), 65);
  EXPECT_EQ(rows_of("Again"), 65);
}

TEST(Fairness, AccountsThatAskForMuchAreNotHeldUpByManyShortPrompts) {
  TimedDriver driver(milliseconds(1), milliseconds(1));
  const Streams greedy = Flood(driver, 20, 3000);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(driver.core.Step());
  std::vector<std::shared_ptr<TokenStream>> others;
  Received first;
  Read(*greedy[0], first);
  const size_t before = first.text.size();
  for (int i = 0; i < 400; ++i) {
    others.push_back(driver.Submit(Of("other", "request " + std::to_string(i), 1)));
    ASSERT_TRUE(driver.core.Step());
    for (const auto& stream : greedy) {
      if (stream != greedy[0]) {
        while (stream->TryPop()) continue;
      }
    }
    Read(*greedy[0], first);
  }
  EXPECT_GT(first.text.size() - before, 130u) << "of 400 steps";
}

// A prompt that arrives waits for the step that runs, so steps are short while somebody else was there a moment ago.
TEST(Fairness, LongPromptsAreCutShorterWhileAnotherAccountIsThere) {
  TimedDriver driver(milliseconds(1), milliseconds(1));
  driver.Generate(Of("greedy", "so that costs are known", 8));
  const auto alone = driver.Submit(Of("greedy", std::string(3000, 'a'), 2));
  ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(driver.rows.back(), 512);
  const auto polite = driver.Submit(Of("polite", "hello", 1));
  ASSERT_TRUE(driver.core.Step());
  ASSERT_TRUE(driver.core.Step());
  ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(driver.rows.back(), StepSharing::kLeastPromptRows);
  driver.now += StepSharing::kMemory;
  ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(driver.rows.back(), 512);
}

TEST(Fairness, AStepKeepsAPromptsRowsWhereFewerWouldCostNearlyAsMuch) {
  const auto rows_for = [](double fixed, double row) {
    StepSharing sharing;
    for (int step = 0; step < 20; ++step) {
      for (const int32_t rows : {1, sharing.PromptRows(512), 512}) sharing.Observe(rows, fixed + row * rows);
    }
    return sharing.PromptRows(512);
  };
  EXPECT_EQ(rows_for(0.3, 0.005), 128) << "0.94 s, where 512 rows take 2.86 s";
  EXPECT_EQ(rows_for(0.001, 0.005), StepSharing::kLeastPromptRows);
  EXPECT_EQ(rows_for(0.1, 0.0), 512) << "rows cost nothing";
}

// Sizes of which nothing is known are tried, and those that were seen long ago again.
TEST(Fairness, StepTimesForget) {
  StepTimes times;
  EXPECT_FALSE(times.Seconds(5));
  times.Observe(5, 2.0);
  EXPECT_EQ(times.Seconds(7), 2.0) << "of the same class";
  EXPECT_FALSE(times.Seconds(8));
  times.Observe(5, 100.0);
  EXPECT_NEAR(*times.Seconds(5), 2.4, 1e-9) << "one slow step predicts little";
  for (int64_t step = 0; step < StepTimes::kForget; ++step) times.Observe(64, 1.0);
  EXPECT_TRUE(times.Seconds(5));
  times.Observe(64, 1.0);
  EXPECT_FALSE(times.Seconds(5));
}

}  // namespace
}  // namespace inferflux::scheduler
