// What is learnt from the time of steps, in numbers.
#include <gtest/gtest.h>

#include "scheduler/fake_engine.h"
#include "scheduler/latency_budget.h"
#include "scheduler/speculation/draft_control.h"
#include "scheduler/step_sharing.h"
#include "scheduler/warm_up.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;

// Steps of `fixed` + `row` seconds for each row.
StepCost Line(double fixed, double row) {
  StepCost cost;
  for (int round = 0; round < 20; ++round) {
    for (const int32_t rows : {1, 4, 8}) cost.Observe(rows, fixed + row * rows);
  }
  return cost;
}

TEST(StepCost, IsALineThroughTheSteps) {
  const StepCost cost = Line(0.010, 0.001);
  ASSERT_TRUE(cost.known());
  EXPECT_NEAR(cost.per_row(), 0.001, 1e-9);
  EXPECT_NEAR(cost.Seconds(0), 0.010, 1e-9);
  EXPECT_NEAR(cost.Seconds(100), 0.110, 1e-9);
  const StepCost falling = Line(0.010, -0.001);
  EXPECT_EQ(falling.per_row(), 0.0) << "more rows are never faster";
  EXPECT_EQ(StepCost().Seconds(5), 0.0);
}

TEST(StepCost, TheLastStepsWeighMore) {
  StepCost cost;
  cost.Observe(2, 1.0);
  EXPECT_FALSE(cost.known()) << "one step";
  EXPECT_EQ(cost.Seconds(9), 1.0);
  cost.Observe(3, 2.0);
  // The weights are 0.955 and 1: the spread is less than half a row around the mean.
  EXPECT_FALSE(cost.known());
  EXPECT_NEAR(cost.Seconds(9), (0.955 * 1.0 + 2.0) / 1.955, 1e-12);
  cost.Observe(4, 3.0);
  ASSERT_TRUE(cost.known());
  EXPECT_NEAR(cost.per_row(), 1.0, 1e-9);
  EXPECT_NEAR(cost.Seconds(9), 8.0, 1e-9);
}

TEST(DraftControl, DraftsWhileATokenSavesMoreThanItsRowCosts) {
  const StepCost cost = Line(0.010, 0.001);  // a step of one sequence: 0.011 s
  const auto length = [&](double draft, int32_t decoding, int32_t limit) {
    return DraftControl().Length(cost, draft, decoding, limit);
  };
  // A token is right with 0.6, 0.36, 0.216, 0.1296: 0.6^n * 0.011 > 0.001 for n up to 4.
  EXPECT_EQ(length(0, 1, 16), 4);
  EXPECT_EQ(length(0, 1, 3), 3);
  EXPECT_EQ(length(0, 1, 0), 0);
  EXPECT_EQ(length(0, 1, -1), 0);
  EXPECT_EQ(length(0.002, 1, 16), 2) << "0.36 * 0.011 > 0.003 and 0.216 * 0.011 < 0.003";
  EXPECT_EQ(length(0, 4, 16), 2) << "0.36 * 0.014 > 0.004";
  EXPECT_EQ(length(0.1, 1, 16), 0);
}

TEST(DraftControl, TriesAgainAfter32Pauses) {
  const StepCost cost = Line(0.010, 0.001);
  DraftControl control;
  for (int i = 1; i < 32; ++i) EXPECT_EQ(control.Length(cost, 1.0, 1, 16), 0) << i;
  EXPECT_EQ(control.Length(cost, 1.0, 1, 16), 1);
  control.Observe(1, 0);
  EXPECT_EQ(control.Length(cost, 1.0, 1, 16), 0);
}

TEST(DraftControl, MeasuresAnUnknownCostAfter64Steps) {
  DraftControl control;
  for (int i = 1; i < 64; ++i) EXPECT_EQ(control.Length({}, 0, 1, 16), 0) << i;
  EXPECT_EQ(control.Length({}, 0, 1, 16), 3);
  EXPECT_EQ(control.Length({}, 0, 1, 2), 2);
  control.Observe(3, 3);
  EXPECT_EQ(control.Length({}, 0, 1, 16), 0);
  EXPECT_EQ(control.Length({}, 0, 1, 16, true), 3) << "a prediction is measured at once";
}

TEST(DraftControl, LearnsHowOftenDraftsAreRight) {
  const StepCost cost = Line(0.010, 0.001);
  const auto after = [&](int32_t drafted, int32_t accepted) {
    DraftControl control;
    control.Observe(drafted, accepted);
    return control.Length(cost, 0, 1, 16);
  };
  EXPECT_EQ(after(0, 0), 4);
  EXPECT_EQ(after(2, 2), 7) << "0.711: 0.711^7 * 0.011 > 0.001";
  EXPECT_EQ(after(3, 2), 4) << "0.604";
  EXPECT_EQ(after(2, 0), 3) << "0.51; the second is not counted";
}

TEST(StepTimes, ASizeIsAPowerOfTwoAndHasItsOwnTime) {
  StepTimes times;
  EXPECT_FALSE(times.BestRow());
  times.Observe(4, 2.0);
  times.Observe(1, 1.0);
  EXPECT_EQ(times.Seconds(0), 1.0);
  EXPECT_EQ(times.Seconds(1), 1.0);
  EXPECT_FALSE(times.Seconds(2));
  EXPECT_FALSE(times.Seconds(3));
  EXPECT_EQ(times.Seconds(4), 2.0);
  EXPECT_EQ(times.Seconds(7), 2.0);
  EXPECT_FALSE(times.Seconds(8));
  EXPECT_EQ(times.BestRow(), 0.5);
  times.Observe(6, 3.0);  // now 4.4 rows in 2.2 s
  EXPECT_NEAR(*times.Seconds(4), 2.2, 1e-12);
  EXPECT_NEAR(*times.BestRow(), 0.5, 1e-12);
  times.Observe(7, 1.0);  // 4.92 rows in 1.96 s
  EXPECT_NEAR(*times.Seconds(4), 1.96, 1e-12);
  EXPECT_NEAR(*times.BestRow(), 1.96 / 4.92, 1e-12);
  times.Observe(1 << 30, 7.0);
  EXPECT_EQ(times.Seconds(1 << 23), 7.0) << "the largest class has no end";
  EXPECT_FALSE(times.Seconds((1 << 23) - 1));
}

TEST(LatencyBudget, GrowsSlowlyAndShrinksAtOnce) {
  LatencyBudget budget;
  EXPECT_EQ(budget.rows(), 4);
  budget.Observe(1, 4, 0.1);
  EXPECT_EQ(budget.rows(), 4) << "no quiet step is known";
  budget.Observe(0, 0, 9.0);
  budget.Observe(1, 0, 0.1);
  // The target is 0.2 s.
  for (int i = 0; i < 30; ++i) budget.Observe(1, budget.rows(), 0.1);
  EXPECT_EQ(budget.rows(), 69) << "4 * 1.1^30";
  budget.Observe(1, 51, 0.1);
  EXPECT_EQ(budget.rows(), 69) << "less than three quarters says nothing about more";
  budget.Observe(1, 69, 0.19);
  EXPECT_EQ(budget.rows(), 73) << "by no more than there is time";
  budget.Observe(1, 73, 0.25);
  EXPECT_EQ(budget.rows(), 58) << "73 * 0.8";
  budget.Observe(1, 50, 9.0);
  EXPECT_EQ(budget.rows(), 25) << "at most by half";
  budget.Observe(1, 4, 9.0);
  EXPECT_EQ(budget.rows(), 4);
  budget.Observe(1, 4, 0.0);
  EXPECT_EQ(budget.rows(), 4) << "a step without a time";
  for (int i = 0; i < 500; ++i) budget.Observe(1, budget.rows(), 0.01);
  EXPECT_EQ(budget.rows(), 1 << 20);
}

TEST(LatencyBudget, QuietStepsFollowTheirTimes) {
  const auto rows_after = [](std::vector<double> quiet, double seconds) {
    LatencyBudget budget;
    budget.Observe(1, 0, 1.0);
    for (const double each : quiet) budget.Observe(1, 0, each);
    for (int i = 0; i < 20; ++i) budget.Observe(1, 1000, 1.0);  // grows to 26
    budget.Observe(1, 20, seconds);
    return budget.rows();
  };
  EXPECT_EQ(rows_after({}, 2.5), 16) << "a target of 2 s: 20 * 2 / 2.5";
  EXPECT_EQ(rows_after({2.0}, 2.5), 17) << "2.2 s";
  EXPECT_EQ(rows_after({100.0}, 2.5), 17) << "one slow step counts as twice the others";
  EXPECT_EQ(rows_after({0.0, 0.0}, 2.5), 12) << "1.62 s";
}

struct Sharing : ::testing::Test {
  RequestPtr Make(const std::string& account, int32_t tokens, int32_t length) {
    GenerationRequest spec{.prompt = std::vector<TokenId>(static_cast<size_t>(tokens), 1), .account = account};
    auto request = std::make_unique<Request>(Request{.number = number++,
                                                     .spec = spec,
                                                     .stream = std::make_shared<TokenStream>(),
                                                     .output = OutputText(tokenizer, {}, {})});
    request->tokens = spec.prompt;
    request->length = length;
    request->generated = length > 0 ? 1 : 0;
    load.shares.Enter(account);
    return request;
  }
  Request* Wait(const std::string& account, int32_t tokens) {
    auto request = Make(account, tokens, 0);
    Request* added = request.get();
    load.waiting.Push(std::move(request));
    return added;
  }
  std::string Out(const Request* next, int32_t step_tokens = 512) {
    std::string out;
    for (const auto& account : sharing.SitOut(load, next, step_tokens)) out += account + " ";
    return out;
  }

  std::shared_ptr<const text::Tokenizer> tokenizer = FakeTokenizer();
  uint64_t number = 0;
  Workload load{StepPolicy{}};
  StepSharing sharing;
};

TEST_F(Sharing, IsForASecondAfterAnotherAccountWasSeen) {
  const TimePoint start = TimePoint() + 1h;
  load.running.push_back(Make("a", 5, 4));
  sharing.Look(load, start);
  EXPECT_FALSE(sharing.shared(start));
  Wait("b", 3);
  sharing.Look(load, start + 1s);
  EXPECT_TRUE(sharing.shared(start + 1s));
  EXPECT_TRUE(sharing.shared(start + 1999ms));
  EXPECT_FALSE(sharing.shared(start + 2s));
  StepSharing later;
  Workload first{StepPolicy{}}, second{StepPolicy{}};
  first.running.push_back(Make("a", 5, 4));
  second.running.push_back(Make("b", 5, 4));
  later.Look(first, start);
  later.Look(second, start + 1s);
  EXPECT_FALSE(later.shared(start + 1s)) << "the other one was there a second ago";
  later.Look(first, start + 1999ms);
  EXPECT_TRUE(later.shared(start + 1999ms));
}

TEST_F(Sharing, AccountsWithMoreRowsSitOutWhereThatHalvesTheStep) {
  for (int i = 0; i < 40; ++i) load.running.push_back(Make("greedy", 100, 99));
  load.shares.Charge("greedy", 1000);
  EXPECT_EQ(Out(nullptr), "") << "no prompt waits";
  const Request* next = Wait("polite", 5);
  EXPECT_EQ(Out(next), "") << "the time of 45 rows is not known";
  sharing.Observe(45, 1.0);
  EXPECT_EQ(Out(next), "greedy ") << "the time of 5 rows is tried";
  sharing.Observe(5, 0.5);
  EXPECT_EQ(Out(next), "") << "it is no less than half";
  for (int i = 0; i < 60; ++i) sharing.Observe(5, 0.49);
  EXPECT_EQ(Out(next), "greedy ");
  EXPECT_EQ(Out(next, 5), "greedy ");
  EXPECT_EQ(Out(next, 4), "") << "its own rows need more than a step";
  load.shares.Charge("polite", load.shares.served("greedy") - load.shares.served("polite"));
  EXPECT_EQ(Out(next), "") << "it was served as much";
}

TEST_F(Sharing, AnAccountWithAsManyRowsTakesPart) {
  for (int i = 0; i < 5; ++i) load.running.push_back(Make("other", 100, 99));
  load.shares.Charge("other", 1000);
  sharing.Observe(10, 1.0);
  const Request* next = Wait("polite", 5);
  EXPECT_EQ(Out(next), "");
  load.running.push_back(Make("other", 100, 99));
  sharing.Observe(11, 1.0);
  EXPECT_EQ(Out(next), "other ");
}

TEST_F(Sharing, APromptThatHasBegunCountsAndAPausedOneDoesNot) {
  for (int i = 0; i < 20; ++i) load.running.push_back(Make("greedy", 100, 99));
  load.shares.Charge("greedy", 1000);
  sharing.Observe(25, 1.0);
  load.running.push_back(Make("polite", 10, 5));
  load.running.back()->generated = 0;
  EXPECT_EQ(Out(nullptr), "greedy ");
  for (size_t i = 0; i < TokenStream::kCapacity; ++i) load.running.back()->stream->Push({});
  EXPECT_EQ(Out(nullptr), "");
}

TEST(WarmUp, RunsAPrefillAndADecodeThatFit) {
  const auto fed = [](int32_t tokens, const FakeEngineOptions& options) {
    FakeEngine engine(options, [](FakeEngine::History, const engine::OutputSpec&) { return 1; });
    std::string out;
    engine.on_step = [&](const engine::UnifiedBatch& batch) {
      for (const auto& item : batch.items) {
        out += fmt::format("{}+{} {}", item.first_position, item.tokens.size(), item.outputs.at(0).token_index);
        for (const TokenId token : item.tokens) EXPECT_EQ(token, 0);
        EXPECT_EQ(item.outputs.size(), 1u);
        EXPECT_EQ(item.outputs[0].sampling.temperature, 0.0f);
      }
      out += ' ';
    };
    EXPECT_TRUE(WarmUp(engine, tokens));
    EXPECT_EQ(engine.usage().blocks_used, 0);
    return out;
  };
  EXPECT_EQ(fed(10, {}), "0+10 9 10+1 0 ");
  EXPECT_EQ(fed(1000, {.context = 20}), "0+19 18 19+1 0 ");
  EXPECT_EQ(fed(1000, {.blocks = 4, .block_size = 4}), "0+15 14 15+1 0 ");
  EXPECT_EQ(fed(0, {}), "0+1 0 ");
}

}  // namespace
}  // namespace inferflux::scheduler
