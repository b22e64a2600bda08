// The scheduler with its thread, as clients on other threads see it.
#include "scheduler/scheduler_thread.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <semaphore>
#include <thread>

#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;

struct Gate {  // an engine that waits for permission before each step
  std::atomic<bool> closed{false};
  std::atomic<int> passes{0};  // steps that a closed gate lets through before it holds one
  std::atomic<int> held{0};    // steps that have waited
};

std::unique_ptr<SchedulerThread> MakeLoop(FakeEngine::Model model, SchedulerOptions options = {}, Gate* gate = nullptr,
                                          bool async = false) {
  const auto factory = [=](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
    auto engine =
        std::make_unique<FakeEngine>(FakeEngineOptions{.blocks = 512, .context = 1000, .async_steps = async}, model);
    engine->on_step = [gate](const engine::UnifiedBatch&) {
      if (gate == nullptr || !gate->closed || gate->passes-- > 0) return;
      ++gate->held;
      while (gate->closed) std::this_thread::sleep_for(1ms);
    };
    return engine;
  };
  auto loop = std::make_unique<SchedulerThread>(factory, FakeTokenizer(), options);
  EXPECT_TRUE(loop->ready().get());
  return loop;
}

// Reads to the end, woken only by the stream.
Received ReadAll(TokenStream& stream) {
  std::counting_semaphore<> wake(0);
  stream.SetNotify([&] { wake.release(); });
  Received received;
  while (!received.done()) {
    Read(stream, received);
    if (!received.done()) {
      EXPECT_TRUE(wake.try_acquire_for(20s)) << "no event in 20 s";
    }
    if (::testing::Test::HasFailure()) break;
  }
  stream.SetNotify({});
  return received;
}

// While nothing waits, the engine prepares what later steps would do, a piece at a time. A request need not wait for
// the rest.
TEST(SchedulerThread, AnEngineThatIsIdlePreparesAheadUntilARequestComes) {
  std::atomic<int> prepared{0}, more{3};
  const auto factory = [&](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
    auto engine = std::make_unique<FakeEngine>(FakeEngineOptions{.blocks = 512, .context = 1000}, Babble);
    engine->prepare_ahead = [&] {
      if (more == 0) return false;
      --more;
      ++prepared;
      return true;
    };
    return engine;
  };
  const auto loop = std::make_unique<SchedulerThread>(factory, FakeTokenizer(), SchedulerOptions{});
  ASSERT_TRUE(loop->ready().get());
  for (int tries = 0; prepared < 3 && tries < 20000; ++tries) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(prepared, 3) << "without a request";
  more = 1 << 30;  // without an end: it must not keep a request waiting
  const auto stream = loop->Submit({.prompt = Bytes("hello"), .max_tokens = 4});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(ReadAll(**stream).text.size(), 4u);
  more = 0;
}

void ExpectThatManyAreServed(bool async) {
  const auto loop = MakeLoop(Babble, {}, nullptr, async);
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back([&, i] {
      GenerationRequest request{.prompt = Bytes("client " + std::to_string(i)), .max_tokens = 60};
      request.sampling.seed = static_cast<uint64_t>(i);
      const std::string expected = SchedulerDriver::Alone(Babble, request);
      const auto stream = loop->Submit(request);
      if (stream && ReadAll(**stream).text == expected) ++right;
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(right, 12);
  EXPECT_EQ(loop->stats().queued, 0);
}

TEST(SchedulerThread, ServesManyClientsAtOnce) { ExpectThatManyAreServed(false); }
TEST(SchedulerThread, ServesManyClientsWhileStepsRunOnADevice) { ExpectThatManyAreServed(true); }

TEST(SchedulerThread, IsReadyOnlyAfterAWarmUpThatLeavesNothing) {
  std::binary_semaphore load(0);
  std::atomic<int64_t> used{-1};
  std::atomic<FakeEngine*> made{nullptr};
  SchedulerThread loop(
      [&](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
        load.acquire();
        auto engine = std::make_unique<FakeEngine>(FakeEngineOptions{}, Babble);
        made = engine.get();
        return engine;
      },
      FakeTokenizer(), {});
  const auto early = loop.Submit({.prompt = {1}});
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(early.error().message, "the model is still being loaded");
  EXPECT_EQ(loop.ready().wait_for(0s), std::future_status::timeout);
  load.release();
  ASSERT_TRUE(loop.ready().get());
  EXPECT_EQ(made.load()->steps, 2) << "a prefill and a decode";
  EXPECT_EQ(loop.engine_info().backend, "fake");
  const auto stream = loop.Submit({.prompt = std::vector<TokenId>(20, 0), .max_tokens = 1});
  ASSERT_TRUE(stream);
  EXPECT_EQ(ReadAll(**stream).finish->usage.cached_tokens, 0) << "the warm-up's tokens must not be found";
}

TEST(SchedulerThread, AModelThatCannotBeLoadedSaysWhy) {
  SchedulerThread loop(
      [](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
        return Fail(ErrorCode::kDataLoss, "tensor 7 is torn");
      },
      FakeTokenizer(), {});
  const Status ready = loop.ready().get();
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().message, "tensor 7 is torn");
  const auto refused = loop.Submit({.prompt = {1}});
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message, "the model could not be loaded");
}

// Occupies the only sequence: the gate holds the second of its steps, so the queue's numbers know that it runs.
std::shared_ptr<TokenStream> Occupy(SchedulerThread& loop, Gate& gate) {
  gate.passes = 1;
  gate.closed = true;
  auto stream = *loop.Submit({.prompt = {1}, .max_tokens = 5});
  while (gate.held == 0) std::this_thread::sleep_for(1ms);
  return stream;
}

TEST(SchedulerThread, AFullQueueIsRefusedAtOnce) {
  Gate gate;
  const auto loop = MakeLoop(Babble, {.policy = {.max_running = 1}, .max_queued = 3}, &gate);
  std::vector<std::shared_ptr<TokenStream>> streams = {Occupy(*loop, gate)};
  for (int i = 0; i < 3; ++i) {
    auto stream = loop->Submit({.prompt = {1}, .max_tokens = 5});
    ASSERT_TRUE(stream) << stream.error().message;
    streams.push_back(*stream);
  }
  const auto refused = loop->Submit({.prompt = {1}, .max_tokens = 5});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().message, "3 requests wait already; try again in about 1 s");
  gate.closed = false;
  for (const auto& stream : streams) EXPECT_EQ(ReadAll(*stream).finish->reason, FinishReason::kLength);
}

TEST(SchedulerThread, WhatTheFirstStepRunsWaitsNoLonger) {
  Gate gate;
  const auto loop = MakeLoop(Babble, {.policy = {.max_running = 1}, .max_queued = 3}, &gate);
  gate.closed = true;  // holds the first step, which runs the first request
  std::vector<std::shared_ptr<TokenStream>> streams = {*loop->Submit({.prompt = {1}, .max_tokens = 5})};
  while (gate.held == 0) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 3; ++i) {
    auto stream = loop->Submit({.prompt = {1}, .max_tokens = 5});
    ASSERT_TRUE(stream) << i << ": " << stream.error().message;
    streams.push_back(*stream);
  }
  EXPECT_EQ(loop->stats().queued, 3);
  EXPECT_FALSE(loop->Submit({.prompt = {1}, .max_tokens = 5}));
  gate.closed = false;
  for (const auto& stream : streams) EXPECT_EQ(ReadAll(*stream).finish->reason, FinishReason::kLength);
}

TEST(SchedulerThread, AnAccountIsChargedForWhatIsComputed) {
  const auto loop = MakeLoop(Babble);
  GenerationRequest request{.prompt = Bytes("hello"), .max_tokens = 5};
  const auto bucket = std::make_shared<TokenBucket>();
  bucket->SetRate(8, std::chrono::steady_clock::now());  // the last token of the five is not computed
  request.account_limits.tokens = bucket;
  ReadAll(**loop->Submit(std::move(request)));
  EXPECT_GT(bucket->SecondsUntilFree(std::chrono::steady_clock::now()), 0) << "five of the prompt and four of the text";
  const auto other = std::make_shared<TokenBucket>();
  other->SetRate(10, std::chrono::steady_clock::now());
  GenerationRequest again{.prompt = Bytes("world"), .max_tokens = 5};
  again.account_limits.tokens = other;
  ReadAll(**loop->Submit(std::move(again)));
  EXPECT_EQ(other->SecondsUntilFree(std::chrono::steady_clock::now()), 0);
}

TEST(SchedulerThread, TheQueueOfOneAccountHasALimitOfItsOwn) {
  Gate gate;
  const auto loop = MakeLoop(Babble, {.policy = {.max_running = 1}, .max_queued = 10}, &gate);
  std::vector<std::shared_ptr<TokenStream>> streams = {Occupy(*loop, gate)};
  const auto submit = [&](const std::string& account) {
    GenerationRequest request{.prompt = {1}, .max_tokens = 5};
    request.account = account;
    request.account_limits.queued = 2;
    auto stream = loop->Submit(std::move(request));
    if (stream) streams.push_back(*stream);
    return stream ? std::string() : stream.error().message;
  };
  EXPECT_EQ(submit("greedy"), "");
  EXPECT_EQ(submit("greedy"), "");
  EXPECT_EQ(
      submit("greedy"),
      "2 requests of this API key or address wait already, and its limit is 2 (limits.queued); try again in about 1 s");
  EXPECT_EQ(submit("polite"), "") << "a refused account disturbs no other";
  EXPECT_GE(loop->RetryAfter("greedy"), 1);
  gate.closed = false;
  for (const auto& stream : streams) EXPECT_EQ(ReadAll(*stream).finish->reason, FinishReason::kLength);
  EXPECT_EQ(submit("greedy"), "") << "the queue is empty again";
  EXPECT_EQ(ReadAll(*streams.back()).finish->reason, FinishReason::kLength);
}

// One runs, one waits. `running`: whether what runs ends too.
void ExpectDrained(bool running) {
  Gate gate;
  const auto loop = MakeLoop(Babble, {.policy = {.max_running = 1}, .max_queued = 3}, &gate);
  const auto runs = Occupy(*loop, gate);
  const auto waits = *loop->Submit({.prompt = {1}, .max_tokens = 5});
  loop->Drain(running);
  const auto refused = loop->Submit({.prompt = {1}, .max_tokens = 5});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message, "the server is stopping");
  if (running) loop->Drain(false);  // takes nothing back
  gate.closed = false;
  const Received first = ReadAll(*runs), second = ReadAll(*waits);
  EXPECT_EQ(second.finish->reason, FinishReason::kError);
  EXPECT_EQ(second.finish->error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.finish->error.message, "the server is stopping");
  EXPECT_EQ(second.text, "");
  EXPECT_EQ(first.finish->reason, running ? FinishReason::kError : FinishReason::kLength);
  EXPECT_EQ(first.text.size() == 5, !running);
}

TEST(SchedulerThread, DrainingEndsWhatWaitsAndLetsTheOthersFinish) { ExpectDrained(false); }
TEST(SchedulerThread, DrainingEndsAllIfThatIsAskedFor) { ExpectDrained(true); }

TEST(SchedulerThread, SessionCommandsAreAnsweredWhileItServes) {
  const auto ask = [](SchedulerThread& loop, SessionCommand command) {
    std::promise<std::string> said;
    loop.Session(std::move(command), [&](Result<std::vector<SessionInfo>> reply) {
      said.set_value(reply ? std::to_string(reply->size()) : reply.error().message);
    });
    return said.get_future().get();
  };
  const auto loop = MakeLoop(Babble);
  GenerationRequest request{.prompt = Bytes("hello"), .max_tokens = 4};
  request.session = SessionUse{.id = "chat"};
  ReadAll(**loop->Submit(std::move(request)));
  EXPECT_EQ(ask(*loop, {}), "1");
  EXPECT_EQ(ask(*loop, {.action = SessionCommand::Action::kDelete, .id = "other"}),
            "no session 'other': it has expired, was evicted, or never existed");
  loop->Stop();
  EXPECT_EQ(ask(*loop, {}), "the model is not being served");
  const auto refused = loop->Submit({.prompt = {1}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the model is being unloaded");
}

// A file of sessions is found again by the number of the model and of the engine's KV.
TEST(SchedulerThread, SessionsOnDiskAreThoseOfTheModelAndItsKv) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / ("kv-of-" + std::to_string(::getpid()));
  const auto name = [&](uint64_t model, int32_t block_size) {
    fs::remove_all(folder);
    SchedulerOptions options;
    options.sessions.directory = folder.string();
    options.sessions.disk_bytes = 1 << 20;
    options.sessions.model = model;
    SchedulerThread loop(
        [&](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
          return std::make_unique<FakeEngine>(FakeEngineOptions{.block_size = block_size}, Babble);
        },
        FakeTokenizer(), options);
    EXPECT_TRUE(loop.ready().get());
    std::string out;
    for (const auto& entry : fs::directory_iterator(folder)) out += entry.path().filename().string();
    return out;
  };
  EXPECT_EQ(name(7, 4), "31e98713b6dbbc65");
  EXPECT_EQ(name(8, 4), "dd12ddc9108e67f4");
  EXPECT_EQ(name(7, 8), "8960eeea272f0f32");
  fs::remove_all(folder);
}

TEST(SchedulerThread, WhatCannotFitIsRefusedBeforeItIsQueued) {
  const auto loop = MakeLoop(Babble);
  const auto refused = loop->Submit({.prompt = std::vector<TokenId>(2000, 1)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

TEST(SchedulerThread, ASleepingLoopWakesForACancellation) {
  const auto loop = MakeLoop(Babble);
  const auto stream = *loop->Submit({.prompt = Bytes("x"), .max_tokens = 900});
  while (!stream->full()) std::this_thread::sleep_for(1ms);  // without a reader, the loop sleeps
  stream->Cancel();
  Received received = ReadAll(*stream);
  EXPECT_EQ(received.finish->reason, FinishReason::kCancelled);
  EXPECT_EQ(received.finishes, 1);
}

TEST(SchedulerThread, ASleepingLoopWakesForADeadline) {
  const auto loop = MakeLoop(Babble);
  const auto stream =
      *loop->Submit({.prompt = Bytes("x"), .max_tokens = 900, .deadline = std::chrono::steady_clock::now() + 100ms});
  while (!stream->full()) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(150ms);
  EXPECT_EQ(ReadAll(*stream).finish->reason, FinishReason::kError);
}

TEST(SchedulerThread, StoppingCallsOffALoad) {
  std::atomic<bool> loading{false};
  SchedulerThread loop(
      [&](const std::stop_token& stop) -> Result<std::unique_ptr<engine::Engine>> {
        loading = true;
        while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);  // like a load of many gigabytes
        return Fail(ErrorCode::kCancelled, "called off");
      },
      FakeTokenizer(), {});
  while (!loading) std::this_thread::sleep_for(1ms);
  loop.Stop();
  EXPECT_EQ(loop.ready().get().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(loop.Submit({.prompt = {1}}).error().code, ErrorCode::kUnavailable);
}

TEST(SchedulerThread, ADraftThatCannotBeLoadedFailsTheLoadByName) {
  SchedulerOptions options;
  options.draft = [](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
    return Fail(ErrorCode::kDataLoss, "half a file");
  };
  const auto make = [](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
    return std::make_unique<FakeEngine>(FakeEngineOptions{}, Babble);
  };
  const SchedulerThread loop(make, FakeTokenizer(), options);
  EXPECT_EQ(loop.ready().get().error().message, "the draft model: half a file");
}

TEST(SchedulerThread, StoppingEndsEveryRequestOnce) {
  auto loop = MakeLoop(Babble, {.policy = {.max_running = 2}});
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 6; ++i) streams.push_back(*loop->Submit({.prompt = Bytes("x"), .max_tokens = 900}));
  loop->Stop();
  EXPECT_EQ(loop->Submit({.prompt = {1}}).error().code, ErrorCode::kUnavailable);
  loop.reset();
  for (const auto& stream : streams) {  // streams outlive the loop
    Received received;
    Read(*stream, received);
    ASSERT_TRUE(received.done());
    EXPECT_EQ(received.finish->reason, FinishReason::kCancelled);
    EXPECT_EQ(received.finishes, 1);
    stream->Cancel();
  }
}

}  // namespace
}  // namespace inferflux::scheduler
