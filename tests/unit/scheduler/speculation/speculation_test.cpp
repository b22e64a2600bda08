// Speculation must never change the output, and must stop if it does not save time. Also tests how the cost of steps
// and the goal determine their sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "scheduler/queue/service_rate.h"
#include "scheduler/scheduler_driver.h"
#include "scheduler/speculation/prediction.h"
#include "scheduler/speculation/prompt_lookup.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;

TEST(PromptLookup, CopiesWhatFollowedTheLastMatch) {
  const auto draft = [](std::string_view text, int32_t count) {
    const auto tokens = LookUpDraft(Bytes(text), count);
    return std::string(tokens.begin(), tokens.end());
  };
  EXPECT_EQ(draft("the cat sat. the c", 5), "at sa");
  EXPECT_EQ(draft("abX abY ab", 1), "Y") << "of equal matches the latest";
  EXPECT_EQ(draft("xabX yabY xab", 1), "X") << "the longer match wins";
  EXPECT_EQ(draft("abcdefgh", 4), "") << "nothing repeats";
  EXPECT_EQ(draft("a ba", 4), "") << "one token is no evidence";
  EXPECT_EQ(draft("aaaa", 9), "a") << "no further than the text goes";
  EXPECT_EQ(draft("", 4), "");
}

TEST(Prediction, GoesOnWhereTheOutputHasCopiedIt) {
  const auto draft = [](std::string_view prediction, std::string_view output, int32_t count) {
    const auto tokens = PredictedDraft(Bytes(prediction), Bytes(output), count);
    return std::string(tokens.begin(), tokens.end());
  };
  EXPECT_EQ(draft("the cat sat", "t", 4), "he c") << "the first token may be the prediction's";
  EXPECT_EQ(draft("the cat sat", "c", 4), "");
  EXPECT_EQ(draft("the cat sat", "the c", 20), "at sat") << "no further than the prediction goes";
  EXPECT_EQ(draft("the cat sat", "the dog s", 3), "at") << "it is found again behind an edit";
  EXPECT_EQ(draft("the cat sat", "the dog", 3), "");
  EXPECT_EQ(draft("a.x b.x c.y", "b.x", 2), " c") << "the longest match wins";
  EXPECT_EQ(draft("", "a", 4), "");
  EXPECT_EQ(draft("abc", "", 4), "");
}

TEST(StepCost, FindsTheLineAndFollowsIt) {
  StepCost cost;
  EXPECT_FALSE(cost.known());
  for (int i = 0; i < 10; ++i) cost.Observe(4, 0.030);
  EXPECT_FALSE(cost.known()) << "one size says nothing about others";
  EXPECT_NEAR(cost.Seconds(4), 0.030, 1e-9);
  for (int32_t rows = 1; rows < 60; ++rows) cost.Observe(rows, 0.020 + 0.001 * rows);
  EXPECT_NEAR(cost.per_row(), 0.001, 1e-4);
  for (int round = 0; round < 3; ++round) {
    for (int32_t rows = 1; rows < 60; ++rows) cost.Observe(rows, 0.010 + 0.002 * rows);
  }
  EXPECT_NEAR(cost.per_row(), 0.002, 1e-4);
  EXPECT_NEAR(cost.Seconds(100), 0.210, 0.01);
}

// An engine whose steps take time: a fixed part and a part for each row.
class TimedDriver : public SchedulerDriver {
 public:
  TimedDriver(FakeEngine::Model model, const StepPolicy& policy, std::chrono::microseconds step,
              std::chrono::microseconds row, const FakeEngineOptions& options = {.blocks = 600, .context = 2000})
      : SchedulerDriver(std::move(model), options, policy) {
    engine.on_step = [this, step, row](const engine::UnifiedBatch& batch) {
      int64_t rows = 0;
      for (const auto& item : batch.items) rows += static_cast<int64_t>(item.tokens.size());
      last = step + row * rows;
      now += last;
    };
  }
  std::chrono::nanoseconds last{};
};

// Repeats its prompt, the best case for prompt lookup.
TokenId Echo(FakeEngine::History history, const engine::OutputSpec& spec) {
  const auto prompt = static_cast<size_t>(spec.prompt_tokens);
  return history[(history.size() - prompt) % prompt];
}

constexpr StepPolicy kSpeculating{.speculation = {.kind = Speculation::Kind::kPromptLookup, .max_tokens = 8}};

TEST(Speculation, TakesFewerStepsWhereDraftTokensAreAccepted) {
  const GenerationRequest request{.prompt = Bytes("The quick brown fox jumps. "), .max_tokens = 200};
  TimedDriver plain(Echo, {}, 10ms, 100us), speculating(Echo, kSpeculating, 10ms, 100us);
  const Received expected = plain.Generate(request);
  const Received received = speculating.Generate(request);
  EXPECT_EQ(received.text, expected.text);
  EXPECT_EQ(received.finish->usage.completion_tokens, 200);
  EXPECT_EQ(received.tokens.size(), 200u);
  EXPECT_LT(speculating.engine.steps * 4, plain.engine.steps);
  EXPECT_GT(speculating.core.stats().accepted_tokens, 150);
  EXPECT_EQ(speculating.engine.usage().blocks_used, 0);
}

// A token is right with 0.6 at first: a fourth one pays where 0.1296 of a step of one row takes longer than a row.
TEST(Speculation, TheFirstDraftIsAsLongAsTheMeasuredStepsPayFor) {
  const auto first_draft = [](std::chrono::microseconds step) {
    TimedDriver driver(Echo, kSpeculating, step, 1000us);
    size_t rows = 0;
    driver.engine.on_step = [&, timed = driver.engine.on_step](const engine::UnifiedBatch& batch) {
      if (rows == 0 && batch.items.at(0).first_position > 0 && batch.items[0].tokens.size() > 1) {
        rows = batch.items[0].tokens.size();
      }
      timed(batch);
    };
    driver.Generate({.prompt = Bytes("The quick brown fox jumps. "), .max_tokens = 60});
    return static_cast<int>(rows) - 1;
  };
  EXPECT_EQ(first_draft(6600us), 3);
  EXPECT_EQ(first_draft(6800us), 4) << "0.1296 * 7.8 ms is more than 1 ms";
  EXPECT_EQ(first_draft(7600us), 4);
}

TEST(Speculation, SaysTheSameForAnyModelSeedAndStop) {
  // Sometimes repeats and sometimes outputs random tokens, so that draft tokens are rejected at every position.
  const auto model = [](FakeEngine::History history, const engine::OutputSpec& spec) {
    return history.size() % 7 < 5 ? Echo(history, spec) : Babble(history, spec);
  };
  for (uint64_t seed = 0; seed < 40; ++seed) {
    GenerationRequest request{.prompt = Bytes("abcabdabeabf"), .max_tokens = 1 + static_cast<int32_t>(seed * 3)};
    request.sampling.seed = seed;
    if (seed % 3 == 0) request.stop = {"fab", "ca"};
    TimedDriver plain(model, {}, 10ms, 100us), speculating(model, kSpeculating, 10ms, 100us);
    const Received expected = plain.Generate(request);
    const Received received = speculating.Generate(request);
    EXPECT_EQ(received.text, expected.text) << "seed " << seed;
    EXPECT_EQ(received.finish->reason, expected.finish->reason);
    EXPECT_EQ(received.finish->usage.completion_tokens, expected.finish->usage.completion_tokens);
    EXPECT_EQ(received.tokens.size(), expected.tokens.size());
  }
}

// Writes `text`.
FakeEngine::Model Recite(std::string text) {
  return [text = std::move(text)](FakeEngine::History history, const engine::OutputSpec& spec) {
    const size_t at = history.size() - static_cast<size_t>(spec.prompt_tokens);
    return static_cast<TokenId>(at < text.size() ? text[at] : '.');
  };
}

TEST(Speculation, APredictionSavesStepsAndChangesNothing) {
  const std::string before = "int Sum(int first, int second) { return first + second; } // adds two numbers, as asked";
  std::string after = before;
  after.replace(after.find("Sum"), 3, "Difference").replace(after.find('+'), 1, "-");
  for (const std::string& answer : {before, after, std::string(90, 'z')}) {
    GenerationRequest request{.prompt = Bytes("Edit. "), .max_tokens = static_cast<int32_t>(answer.size())};
    TimedDriver plain(Recite(answer), {}, 10ms, 100us), predicting(Recite(answer), {}, 10ms, 100us);
    plain.Generate(request);  // measures the cost of steps
    predicting.Generate(request);
    plain.engine.steps = predicting.engine.steps = 0;
    const Received expected = plain.Generate(request);
    request.prediction = Bytes(before);
    const Received received = predicting.Generate(request);
    EXPECT_EQ(received.text, expected.text);
    EXPECT_EQ(received.finish->usage.completion_tokens, expected.finish->usage.completion_tokens);
    EXPECT_EQ(received.tokens.size(), expected.tokens.size());
    const auto& usage = received.finish->usage;
    EXPECT_LE(usage.accepted_tokens, usage.drafted_tokens);
    if (answer[0] == 'z') {
      EXPECT_EQ(usage.accepted_tokens, 0);
    } else {
      EXPECT_GT(usage.accepted_tokens, 30);
      EXPECT_LT(predicting.engine.steps * 2, plain.engine.steps);
    }
  }
}

TEST(Speculation, SwitchesItselfOffWhereItDoesNotPay) {
  const GenerationRequest request{.prompt = Bytes("aabbabaabbab"), .max_tokens = 400};
  const auto coin = [](FakeEngine::History history, const engine::OutputSpec& spec) {  // repeats, but unpredictably
    return static_cast<TokenId>('a' + (Babble(history, spec) & 1));
  };
  TimedDriver plain(coin, {}, 1ms, 900us), speculating(coin, kSpeculating, 1ms, 900us);
  const TimePoint began = plain.now;
  EXPECT_EQ(speculating.Generate(request).text, plain.Generate(request).text);
  EXPECT_LT((speculating.now - began) / 1us, (plain.now - began) / 1us * 103 / 100)
      << "never slower: three per cent at most";
}

TEST(Speculation, WorksBesideOthersAndWhereKvIsShort) {
  SchedulerDriver plain(Echo), speculating(Echo, {.blocks = 24, .block_size = 4, .max_sequences = 8}, kSpeculating);
  speculating.engine.on_step = [&](const engine::UnifiedBatch& batch) {
    speculating.now += 5ms + batch.items.size() * 1us;
  };
  std::vector<std::shared_ptr<TokenStream>> streams;
  const auto request = [](int i) {
    return GenerationRequest{.prompt = Bytes("copy " + std::to_string(i) + ";"), .max_tokens = 60};
  };
  for (int i = 0; i < 6; ++i) streams.push_back(speculating.Submit(request(i)));
  speculating.Drain();
  for (int i = 0; i < 6; ++i) {
    Received received;
    Read(*streams[static_cast<size_t>(i)], received);
    EXPECT_EQ(received.text, plain.Generate(request(i)).text);
  }
  EXPECT_GT(speculating.core.stats().accepted_tokens, 0);
  EXPECT_EQ(speculating.engine.usage().blocks_used, 0);
}

TEST(LatencyGoal, ALongPromptHardlySlowsThoseWhoAreBeingServed) {
  TimedDriver driver(Babble, {.goal = StepGoal::kLatency}, 8ms, 400us);
  const auto talker = driver.Submit({.prompt = Bytes("warm-up"), .max_tokens = 400});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(driver.core.Step());
  const auto quiet = driver.last;
  const auto reader = driver.Submit({.prompt = Bytes(std::string(1500, 'p')), .max_tokens = 2});
  Received read;
  for (int step = 0; !read.done(); ++step) {
    ASSERT_TRUE(driver.core.Step());
    ASSERT_LT(step, 200);
    EXPECT_LT(driver.last / 1us, 3 * quiet / 1us) << "step " << step;
    Read(*reader, read);
  }
}

// Steps take up to a quarter more or less than their rows cost, one in twenty takes four times as long, and rows cost
// more with depth. The scheduled steps stay within the bound.
TEST(LatencyGoal, HoldsOnANoisyMachine) {
  SchedulerDriver driver(Babble, {.blocks = 1024, .block_size = 16, .max_sequences = 8, .context = 8192},
                         {.goal = StepGoal::kLatency});
  std::mt19937 random(7);
  double cost = 0.0;
  driver.engine.on_step = [&](const engine::UnifiedBatch& batch) {
    cost = 8.0;
    for (const auto& item : batch.items) {
      cost += static_cast<double>(item.tokens.size()) * (0.4 + 0.0001 * item.first_position);
    }
    const double noise = std::uniform_real_distribution(0.75, 1.25)(random) * (random() % 20 == 0 ? 4.0 : 1.0);
    driver.now += std::chrono::microseconds(static_cast<int64_t>(1000.0 * cost * noise));
  };
  std::vector<std::shared_ptr<TokenStream>> talkers;
  for (int i = 0; i < 4; ++i) talkers.push_back(driver.Submit({.prompt = Bytes("warm-up"), .max_tokens = 1000}));
  const auto step = [&] {  // an unread stream would pause
    EXPECT_TRUE(driver.core.Step());
    for (const auto& talker : talkers) {
      Received heard;
      Read(*talker, heard);
    }
  };
  for (int i = 0; i < 40; ++i) step();
  const double quiet = cost;
  const auto reader = driver.Submit({.prompt = Bytes(std::string(6000, 'p')), .max_tokens = 2});
  Received read;
  std::vector<double> costs;
  while (!read.done()) {
    step();
    costs.push_back(cost);
    ASSERT_LT(costs.size(), 800u) << "with the fewest rows it would be 1,500";
    Read(*reader, read);
  }
  std::ranges::sort(costs);
  EXPECT_LT(costs[costs.size() * 99 / 100], 3.0 * quiet);
  EXPECT_LT(costs.back(), 4.0 * quiet);
}

TEST(LatencyGoal, NobodyToSlowDownMeansFullSpeed) {
  TimedDriver driver(Babble, {.goal = StepGoal::kLatency}, 8ms, 400us);
  driver.Generate({.prompt = Bytes(std::string(1500, 'p')), .max_tokens = 1});
  EXPECT_EQ(driver.engine.steps, 3) << "512 tokens a step";
}

TEST(ServiceRate, SaysWhenToComeBack) {
  ServiceRate rate;
  TimePoint now{};
  EXPECT_EQ(rate.SecondsFor(100, now), 1) << "nothing is known yet";
  for (int i = 0; i < 200; ++i) rate.Finished(now += 500ms);
  EXPECT_NEAR(rate.SecondsFor(20, now), 10, 1);
  EXPECT_EQ(rate.SecondsFor(1000, now), 60) << "no client is sent away for longer";
  EXPECT_EQ(rate.SecondsFor(0, now), 1);
}

}  // namespace
}  // namespace inferflux::scheduler
