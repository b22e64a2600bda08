// Shortages: too little KV, too few sequences, clients that do not read, and failing steps.
#include <gtest/gtest.h>

#include <map>

#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

GenerationRequest LongStory(int i) {
  GenerationRequest request{.prompt = Bytes(std::string(static_cast<size_t>(5 + i), static_cast<char>('A' + i)))};
  request.sampling.seed = static_cast<uint64_t>(i);
  request.max_tokens = 40;
  return request;
}

TEST(Preemption, GivesTheSameTextAsPlentyOfRoom) {
  SchedulerDriver driver(Babble, {.blocks = 24, .block_size = 4, .max_sequences = 8});
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 6; ++i) streams.push_back(driver.Submit(LongStory(i)));
  driver.Drain();
  EXPECT_GT(driver.core.stats().preemptions, 3) << "the test must exercise preemption";
  for (int i = 0; i < 6; ++i) {
    Received received;
    Read(*streams[static_cast<size_t>(i)], received);
    EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, LongStory(i)));
    EXPECT_EQ(received.finish->reason, FinishReason::kLength);
    EXPECT_EQ(received.finish->usage.completion_tokens, 40);
    EXPECT_EQ(received.finish->usage.cached_tokens, 0) << "its own blocks, found again, are no cached prompt";
  }
  EXPECT_EQ(driver.engine.usage().blocks_used, 0);
}

TEST(Preemption, CachedTokensStayWhatTheyWereAtFirst) {
  SchedulerDriver driver(Babble, {.blocks = 24, .block_size = 4, .max_sequences = 8});
  const auto shared = [](int i) {
    GenerationRequest request = LongStory(i);
    request.prompt = Bytes("a prefix" + std::string(static_cast<size_t>(1 + i), static_cast<char>('A' + i)));
    return request;
  };
  driver.Generate({.prompt = Bytes("a prefix!"), .max_tokens = 1});
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 6; ++i) streams.push_back(driver.Submit(shared(i)));
  ASSERT_TRUE(driver.core.Step());
  driver.Drain();
  EXPECT_GT(driver.core.stats().preemptions, 3) << "the test must exercise preemption";
  for (const auto& stream : streams) {
    Received received;
    Read(*stream, received);
    EXPECT_EQ(received.finish->usage.cached_tokens, 8) << "two blocks, whatever was found later";
  }
}

TEST(Preemption, KeepsStopStringsThatAreHalfSeen) {
  // 20 letters, then the stop string letter by letter, while others need memory.
  const auto model = Says(Bytes("abcdefghijklmnopqrst<end>never"));
  SchedulerDriver driver(model, {.blocks = 12, .block_size = 4, .max_sequences = 8});
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 4; ++i) {
    GenerationRequest request = LongStory(i);
    request.stop = {"<end>"};
    request.max_tokens = 0;
    streams.push_back(driver.Submit(std::move(request)));
  }
  driver.Drain();
  EXPECT_GT(driver.core.stats().preemptions, 0);
  for (const auto& stream : streams) {
    Received received;
    Read(*stream, received);
    EXPECT_EQ(received.text, "abcdefghijklmnopqrst");
    EXPECT_EQ(received.finish->reason, FinishReason::kStop);
  }
}

TEST(Preemption, TheOldestIsNeverTheOneThatWaits) {
  SchedulerDriver driver(Babble, {.blocks = 12, .block_size = 4, .max_sequences = 8});
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(driver.Submit(LongStory(i)));
  Received oldest;
  for (int step = 0; !oldest.done(); ++step) {
    ASSERT_TRUE(driver.core.Step());
    ASSERT_LT(step, 41) << "one token a step";
    Read(*streams[0], oldest);
  }
}

TEST(Preemption, AHigherPriorityKeepsItsRoom) {
  SchedulerDriver driver(Babble, {.blocks = 13, .block_size = 4, .max_sequences = 8});
  const auto low = driver.Submit(LongStory(0));
  ASSERT_TRUE(driver.core.Step());
  GenerationRequest urgent = LongStory(1);
  urgent.priority = 1;
  const auto high = driver.Submit(std::move(urgent));
  Received first;
  for (int step = 0; !first.done(); ++step) {
    ASSERT_TRUE(driver.core.Step());
    ASSERT_LT(step, 41);
    Read(*high, first);
  }
  EXPECT_GT(driver.core.stats().preemptions, 0);
  driver.Drain();
  Received second;
  Read(*low, second);
  EXPECT_EQ(second.text, SchedulerDriver::Alone(Babble, LongStory(0)));
}

TEST(SlowClient, PausesItsOwnSequenceOnly) {
  SchedulerDriver driver(Babble, {.blocks = 400, .context = 800});
  GenerationRequest lengthy{.prompt = Bytes("slow"), .max_tokens = 700};
  const auto slow = driver.Submit(lengthy);
  lengthy.prompt = Bytes("fast");
  const auto fast = driver.Submit(lengthy);
  Received eager;
  while (driver.core.Step()) Read(*fast, eager);
  Read(*fast, eager);
  EXPECT_TRUE(eager.done());
  Received late;
  while (!late.done()) {  // now the slow client reads
    Read(*slow, late);
    driver.Drain();
  }
  EXPECT_EQ(late.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes("slow"), .max_tokens = 700}));
  EXPECT_GE(late.events.size(), TokenStream::kCapacity);
}

TEST(SlowClient, GivesUpItsRoomWhenOthersNeedIt) {
  SchedulerDriver driver(Babble, {.blocks = 80, .block_size = 4, .max_sequences = 1, .context = 320});
  const auto slow = driver.Submit({.prompt = Bytes("slow"), .max_tokens = 300});
  driver.Drain();
  EXPECT_EQ(driver.core.stats().running, 1);
  EXPECT_EQ(driver.Generate({.prompt = Bytes("other"), .max_tokens = 9}).text.size(), 9u);
  Received late;
  while (!late.done()) {
    Read(*slow, late);
    driver.Drain();
  }
  EXPECT_EQ(late.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes("slow"), .max_tokens = 300}));
  EXPECT_EQ(late.finishes, 1);
}

TEST(EngineFaults, EndOnlyTheRequestAtFault) {
  SchedulerDriver driver(Babble);
  driver.engine.fault = [](const engine::UnifiedBatch& batch) -> Status {
    for (const auto& item : batch.items) {
      if (item.tokens[0] == '!') return Fail(ErrorCode::kInternal, "the kernel tripped");
    }
    return {};
  };
  const auto good = driver.Submit(LongStory(0));
  const auto bad = driver.Submit({.prompt = Bytes("!"), .max_tokens = 5});
  const auto also_good = driver.Submit(LongStory(1));
  driver.Drain();
  Received a, b, c;
  Read(*good, a);
  Read(*bad, b);
  Read(*also_good, c);
  EXPECT_EQ(b.finish->reason, FinishReason::kError);
  EXPECT_EQ(b.finish->error.message, "the kernel tripped");
  EXPECT_EQ(a.text, SchedulerDriver::Alone(Babble, LongStory(0)));
  EXPECT_EQ(c.text, SchedulerDriver::Alone(Babble, LongStory(1)));
  EXPECT_EQ(driver.engine.usage().blocks_used, 0);
}

TEST(EngineFaults, ABrokenEngineEndsEveryRequestAndTheLoopGoesOn) {
  SchedulerDriver driver(Babble);
  bool broken = true;
  driver.engine.fault = [&](const engine::UnifiedBatch&) -> Status {
    if (broken) return Fail(ErrorCode::kInternal, "no device");
    return {};
  };
  const auto stream = driver.Submit(LongStory(0));
  const auto other = driver.Submit(LongStory(1));
  driver.Drain();
  for (const auto& each : {stream, other}) {
    Received received;
    Read(*each, received);
    EXPECT_EQ(received.finish->reason, FinishReason::kError);
    EXPECT_EQ(received.finishes, 1);
  }
  broken = false;
  EXPECT_EQ(driver.Generate(LongStory(2)).finish->reason, FinishReason::kLength);
}

TEST(EngineFaults, LogitsThatLeaveNothingAreAnErrorOfThatRequest) {
  SchedulerDriver driver([](FakeEngine::History, const engine::OutputSpec&) { return engine::kNoToken; });
  EXPECT_EQ(driver.Generate({.prompt = Bytes("?")}).finish->reason, FinishReason::kError);
}

}  // namespace
}  // namespace inferflux::scheduler
