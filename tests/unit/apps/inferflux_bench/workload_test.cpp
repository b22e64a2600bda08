// Which calls a timed test makes of an engine, one by one.
#include "apps/inferflux_bench/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inferflux::apps {
namespace {

// Writes down what it is asked, and fails at the call of that number.
class WrittenEngine : public engine::Engine {
 public:
  explicit WrittenEngine(Profile& profile, int fails_at = 0) : profile_(profile), left_(fails_at) {
    info_.vocab_size = 1000;
    info_.block_size = 4;
    info_.step_tokens = 4;
  }

  const engine::EngineInfo& info() const override { return info_; }
  Result<engine::PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override {
    if (Status may = Call(fmt::format("open {}:{}", tokens.size(), salt)); !may) return Forward(may);
    return engine::PrefixMatch{.sequence = {.slot = 0, .generation = ++opened_}};
  }
  Result<engine::SequenceId> Fork(engine::SequenceId) override { return Fail(ErrorCode::kUnsupported, "no fork"); }
  Status Reserve(engine::SequenceId id, int32_t tokens) override {
    return Call(fmt::format("room {}:{}", id.generation, tokens));
  }
  Status Truncate(engine::SequenceId id, int32_t length) override {
    return Call(fmt::format("cut {}:{}", id.generation, length));
  }
  Status Close(engine::SequenceId id) override { return Call(fmt::format("close {}", id.generation)); }
  Result<int32_t> Length(engine::SequenceId) const override { return 0; }
  engine::KvUsage usage() const override { return {}; }
  Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
    std::string text = "step";
    for (const engine::BatchItem& item : batch.items) {
      text += fmt::format(" {}@{}:{}", item.sequence.generation, item.first_position, fmt::join(item.tokens, ","));
      EXPECT_EQ(item.outputs.size(), 1u);
      EXPECT_EQ(item.outputs.front().token_index, std::ssize(item.tokens) - 1);
      EXPECT_EQ(item.outputs.front().kind, engine::OutputSpec::Kind::kSample);
      EXPECT_EQ(item.outputs.front().sampling.temperature, 0.0f);
    }
    if (Status may = Call(text); !may) return Forward(may);
    profile_.Add("step", 1.0, {});
    return engine::StepResult{.items = {}, .device_seconds = 0.5};
  }

  std::vector<std::string> calls;

 private:
  Status Call(std::string text) {
    calls.push_back(std::move(text));
    if (--left_ == 0) return Fail(ErrorCode::kInternal, "it fails");
    return {};
  }

  Profile& profile_;
  int left_;
  uint32_t opened_ = 0;
  engine::EngineInfo info_;
};

// The tokens of `count` positions.
std::string Tokens(int64_t first, int64_t count) {
  std::string out;
  for (int64_t i = first; i < first + count; ++i)
    out += fmt::format("{}{}", out.empty() ? "" : ",", (i * 2654435761 / 128) % 1000);
  return out;
}

using Calls = std::vector<std::string>;

TEST(WorkloadTest, APromptIsFedInStepsAndTakenBack) {
  Profile profile;
  WrittenEngine engine(profile);
  const auto times = Time(engine, {.prompt = 5, .depth = 6}, 1, profile);
  ASSERT_TRUE(times) << times.error().message;
  Calls expected = {"open 0:0", "room 1:4", "step 1@0:" + Tokens(0, 4), "room 1:6", "step 1@4:" + Tokens(4, 2)};
  for (int run = 0; run < 2; ++run) {
    for (const std::string& call :
         {std::string("room 1:10"), "step 1@6:" + Tokens(6, 4), std::string("room 1:11"), "step 1@10:" + Tokens(10, 1),
          std::string("cut 1:4"), std::string("room 1:6"), "step 1@4:" + Tokens(4, 2)}) {
      expected.push_back(call);
    }
  }
  expected.push_back("close 1");
  EXPECT_EQ(engine.calls, expected);
  ASSERT_EQ(times->size(), 1u) << "the first run warms up";
  EXPECT_EQ(times->front().device_seconds, 1.0) << "of the prompt's two steps";
  EXPECT_GT(times->front().seconds, 0.0);
  EXPECT_LT(times->front().seconds, 1000.0);
}

TEST(WorkloadTest, SequencesDecodeTogetherOneTokenAStep) {
  Profile profile;
  WrittenEngine engine(profile);
  const auto times = Time(engine, {.decode = 2, .depth = 4, .batch = 2}, 2, profile);
  ASSERT_TRUE(times) << times.error().message;
  Calls expected = {"open 0:0", "open 0:0", "room 1:4", "room 2:4",
                    "step 1@0:" + Tokens(0, 4) + " 2@0:" + Tokens(0, 4)};
  for (int run = 0; run < 3; ++run) {
    for (const int at : {4, 5}) {
      for (const int id : {1, 2}) expected.push_back(fmt::format("room {}:{}", id, at + 1));
      expected.push_back(fmt::format("step 1@{0}:{1} 2@{0}:{1}", at, Tokens(at, 1)));
    }
    for (const int id : {1, 2}) expected.push_back(fmt::format("cut {}:4", id));
  }
  expected.insert(expected.end(), {"close 1", "close 2"});
  EXPECT_EQ(engine.calls, expected);
  ASSERT_EQ(times->size(), 2u);
  EXPECT_EQ((*times)[1].device_seconds, 1.0);
  EXPECT_EQ(profile.Lines(1.0, {1, 1, 1, 1})[0].calls, 4) << "without the prompt and the run that warms up";
}

TEST(WorkloadTest, WhatFailsEndsTheTestAndClosesWhatIsOpen) {
  Profile profile;
  for (int call = 1; call <= 14; ++call) {
    WrittenEngine engine(profile, call);
    const auto times = Time(engine, {.decode = 2, .depth = 4, .batch = 2}, 1, profile);
    ASSERT_FALSE(times) << call;
    EXPECT_EQ(times.error().message, "it fails");
    const Calls closes = call == 1 ? Calls{} : call == 2 ? Calls{"close 1"} : Calls{"close 1", "close 2"};
    EXPECT_EQ(Calls(engine.calls.begin() + call, engine.calls.end()), closes) << call;
  }
}

}  // namespace
}  // namespace inferflux::apps
