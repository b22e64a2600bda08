// A hundred thousand requests through the scheduler in simulated time: bursts, many accounts and priorities, shared
// prefixes, clients that cancel, sleep or are late, an engine that sometimes fails, and too little KV.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/log.h"
#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;

constexpr int kMaxQueued = 200;
constexpr int32_t kBlocks = 70;
constexpr TokenId kPoison = 300;  // a prompt that contains it fails every step that it is in

// A sequence's next token, from its last token, its length and its seed; one word in 32 is the end token.
TokenId Next(TokenId last, size_t length, uint64_t seed) {
  uint64_t x = seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(last) * 0x100000001b3u + length;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u;
  x ^= x >> 29;
  return x % 32 == 0 ? kEnd : static_cast<TokenId>('a' + x % 26);
}

TokenId Model(FakeEngine::History history, const engine::OutputSpec& spec) {
  return Next(history.back(), history.size(), spec.sampling.seed);
}

std::string ExpectedText(const GenerationRequest& request) {
  std::string text;
  TokenId last = request.prompt.back();
  while (static_cast<int32_t>(text.size()) < request.max_tokens) {
    last = Next(last, request.prompt.size() + text.size(), request.sampling.seed);
    if (last == kEnd) break;
    text += static_cast<char>(last);
  }
  return text;
}

struct Client {
  GenerationRequest request;
  std::shared_ptr<TokenStream> stream;
  Received received;
  TimePoint submitted;
  int64_t cancel_at = -1;  // step
  bool reads = true;
};

struct Tally {
  int64_t submitted = 0, refused = 0, finished = 0, cancelled = 0, failed = 0, cached_tokens = 0;
  std::chrono::nanoseconds longest_wait{};  // from submission to the first event
};

class Simulation {
 public:
  // `async`: steps run on a device while the next one is prepared, and clients cancel in the meantime.
  explicit Simulation(uint32_t seed, int requests, bool async = false)
      : requests_(requests),
        random_(seed),
        driver_(Model,
                {.blocks = kBlocks,
                 .block_size = 4,
                 .max_sequences = 24,
                 .context = 96,
                 .vocab_size = 301,
                 .async_steps = async},
                {.speculation = {.kind = Speculation::Kind::kPromptLookup, .max_tokens = 4},
                 .max_batch_tokens = 64,
                 .priority_aging = std::chrono::seconds(2)}) {
    driver_.engine.on_step = [this](const engine::UnifiedBatch& batch) {
      size_t rows = 0;
      for (const auto& item : batch.items) rows += item.tokens.size();
      driver_.now += 2ms + rows * 50us;
    };
    driver_.engine.on_call = [this](std::string_view call) {
      if (call != "submit" || clients_.empty() || !Chance(30)) return;
      Client& client = clients_[static_cast<size_t>(Below(static_cast<uint32_t>(clients_.size())))];
      client.cancel_at = 0;
      client.stream->Cancel();
    };
    driver_.engine.fault = [this](const engine::UnifiedBatch& batch) -> Status {
      if (Chance(200)) return Fail(ErrorCode::kInternal, "a cosmic ray");
      for (const auto& item : batch.items) {
        if (std::ranges::count(item.tokens, kPoison) > 0) return Fail(ErrorCode::kInternal, "poison");
      }
      return {};
    };
  }

  Tally Run() {
    int64_t step = 0;
    while (tally_.submitted < requests_ || !clients_.empty()) {
      Arrive(step);
      Act(step);
      if (!driver_.core.Step()) driver_.now += 20ms;  // asleep
      if (++step % 64 == 0) CheckBlocks();
    }
    CheckBlocks();
    return tally_;
  }

  const FakeEngine& engine() const { return driver_.engine; }
  SchedulerStats stats() const { return driver_.core.stats(); }

 private:
  bool Chance(uint32_t one_in) { return random_() % one_in == 0; }
  int32_t Below(uint32_t limit) { return static_cast<int32_t>(random_() % limit); }

  // About as much load as the engine can serve, in bursts.
  void Arrive(int64_t step) {
    int32_t arrivals = step % 400 < 100 ? Below(4) : Below(2);
    arrivals = std::min(arrivals, requests_ - static_cast<int32_t>(tally_.submitted));
    for (; arrivals > 0; --arrivals) {
      if (driver_.core.stats().queued >= kMaxQueued) {
        ++tally_.refused;
        continue;
      }
      ++tally_.submitted;
      Client client{.request = MakeRequest(), .submitted = driver_.now};
      if (Chance(20)) client.cancel_at = step + Below(60);
      if (Chance(25)) client.request.deadline = driver_.now + std::chrono::milliseconds(Below(1000));
      client.reads = !Chance(30);
      client.stream = driver_.Submit(client.request);
      clients_.push_back(std::move(client));
    }
  }

  GenerationRequest MakeRequest() {
    GenerationRequest request;
    request.prompt.assign(static_cast<size_t>(4 * Below(6)), 100 + Below(3));  // a prefix that many requests share
    for (int32_t i = 1 + Below(20); i > 0; --i) request.prompt.push_back(Below(256));
    if (Chance(300)) request.prompt.push_back(kPoison);
    request.sampling.seed = random_();
    request.max_tokens = 1 + Below(50);
    request.account = std::to_string(Below(5));
    request.priority = Chance(10) ? 1 : 0;
    request.cache_salt = static_cast<uint64_t>(Below(2));
    return request;
  }

  void Act(int64_t step) {
    for (auto& client : clients_) {
      if (client.cancel_at == step) client.stream->Cancel();
      if (!client.reads && !Chance(40)) continue;
      const bool waited = client.received.events.empty();
      Read(*client.stream, client.received);
      if (waited && !client.received.events.empty() && client.reads) {
        tally_.longest_wait = std::max(tally_.longest_wait, driver_.now - client.submitted);
      }
      if (client.received.done()) Check(client);
    }
    std::erase_if(clients_, [](const Client& client) { return client.received.done(); });
  }

  void Check(const Client& client) {
    const Finish& finish = *client.received.finish;
    ASSERT_EQ(client.received.finishes, 1);
    ASSERT_FALSE(client.stream->TryPop()) << "an event after the last";
    tally_.cached_tokens += finish.usage.cached_tokens;
    const std::string expected = ExpectedText(client.request);
    switch (finish.reason) {
      case FinishReason::kStop:
      case FinishReason::kLength:
        ++tally_.finished;
        ASSERT_EQ(client.received.text, expected);
        ASSERT_EQ(finish.usage.completion_tokens,
                  static_cast<int32_t>(expected.size()) + (finish.reason == FinishReason::kStop ? 1 : 0));
        break;
      case FinishReason::kCancelled:
        ++tally_.cancelled;
        ASSERT_GE(client.cancel_at, 0);
        ASSERT_TRUE(expected.starts_with(client.received.text));
        break;
      case FinishReason::kError:
        ++tally_.failed;
        ASSERT_TRUE(expected.starts_with(client.received.text));
        break;
    }
  }

  void CheckBlocks() {
    const auto usage = driver_.engine.usage();
    ASSERT_EQ(usage.blocks_used + usage.blocks_cached + usage.blocks_free, kBlocks);
    if (driver_.core.stats().running == 0) {
      ASSERT_EQ(usage.blocks_used, 0) << "a block leaked";
    }
  }

  const int requests_;
  std::mt19937 random_;
  SchedulerDriver driver_;
  std::vector<Client> clients_;
  Tally tally_;
};

void ExpectThatEachEndsOnceAndNothingLeaks(Simulation& simulation, int requests) {
  const Tally tally = simulation.Run();
  EXPECT_EQ(tally.submitted, requests);
  EXPECT_EQ(tally.finished + tally.cancelled + tally.failed, tally.submitted);
  EXPECT_EQ(simulation.stats().queued + simulation.stats().running, 0);
  EXPECT_EQ(simulation.engine().usage().blocks_used, 0);
  EXPECT_EQ(simulation.engine().misuses, 0);
  std::printf(
      "%ld finished, %ld cancelled, %ld failed, %ld refused; %ld preemptions, %ld of %ld guesses right; "
      "longest wait %ld ms\n",
      tally.finished, tally.cancelled, tally.failed, tally.refused, simulation.stats().preemptions,
      simulation.stats().accepted_tokens, simulation.stats().drafted_tokens, tally.longest_wait / 1ms);

  EXPECT_GT(tally.finished, requests / 2);
  EXPECT_GT(tally.cancelled, requests / 100) << "the simulation must exercise what it is for";
  EXPECT_GT(tally.failed, requests / 100);
  EXPECT_GT(tally.refused, requests / 1000);
  EXPECT_GT(tally.cached_tokens, requests);
  EXPECT_GT(simulation.stats().preemptions, requests / 100);
  // A full queue of 200 takes about a simulated second to serve, and each of five accounts may come before another.
  EXPECT_LT(tally.longest_wait, 8s);
}

TEST(Simulation, AHundredThousandRequestsEachEndOnceAndNothingLeaks) {
  log::SetLevel(log::Level::kError);  // there are many faults
  Simulation simulation(1, 100000);
  ExpectThatEachEndsOnceAndNothingLeaks(simulation, 100000);
}

TEST(Simulation, StepsThatOverlapWithTheNextOnesPreparationLoseNothing) {
  log::SetLevel(log::Level::kError);
  Simulation simulation(2, 30000, true);
  ExpectThatEachEndsOnceAndNothingLeaks(simulation, 30000);
}

}  // namespace
}  // namespace inferflux::scheduler
