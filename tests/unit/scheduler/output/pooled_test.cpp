// Texts that are pooled, on an engine whose hidden states a test chooses: sums, heads, norms, and what is no number.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

// The hidden state of a token t is (t, 1).
class StateEngine final : public engine::Engine {
 public:
  explicit StateEngine(model::Pooling type, int32_t step_tokens = 512)
      : inner_({.step_tokens = step_tokens},
               [](FakeEngine::History, const engine::OutputSpec&) { return TokenId{1}; }) {
    info_ = inner_.info();
    info_.hidden = 2;
    info_.pooling.type = type;
    info_.pooling.normalise = false;
  }

  const engine::EngineInfo& info() const override { return info_; }
  Result<engine::PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override {
    return inner_.Open(tokens, salt);
  }
  Result<engine::SequenceId> Fork(engine::SequenceId id) override { return inner_.Fork(id); }
  Status Reserve(engine::SequenceId id, int32_t tokens) override { return inner_.Reserve(id, tokens); }
  Status Truncate(engine::SequenceId id, int32_t length) override { return inner_.Truncate(id, length); }
  Status Close(engine::SequenceId id) override { return inner_.Close(id); }
  Result<int32_t> Length(engine::SequenceId id) const override { return inner_.Length(id); }
  engine::KvUsage usage() const override { return inner_.usage(); }
  Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
    auto out = inner_.ExecuteUnifiedBatch(batch);
    if (!out) return out;
    for (size_t i = 0; i < batch.items.size(); ++i) {
      for (size_t o = 0; o < batch.items[i].outputs.size(); ++o) {
        const auto at = static_cast<size_t>(batch.items[i].outputs[o].token_index);
        const auto value = static_cast<float>(batch.items[i].tokens[at]);
        out->items[i][o].hidden = {value == bad ? std::numeric_limits<float>::quiet_NaN() : value, 1.0f};
        ++states;
      }
    }
    return out;
  }
  Result<std::vector<float>> ApplyHead(std::span<const float> pooled) override {
    if (head_fails) return Fail(ErrorCode::kInternal, "the head is gone");
    return std::vector<float>{pooled[0], pooled[1], 2.0f};
  }

  engine::EngineInfo info_;
  float bad = -1.0f;  // the token whose state is no number
  bool head_fails = false;
  int states = 0;  // that were asked for

 private:
  FakeEngine inner_;
};

std::string PooledBy(StateEngine& engine, std::vector<TokenId> prompt) {
  BackendDriver driver(engine, {}, FakeTokenizer());
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.embed = true;
  const Received received = driver.Generate(request);
  if (received.finish->reason == FinishReason::kError) return received.finish->error.message;
  EXPECT_EQ(received.finish->reason, FinishReason::kStop);
  EXPECT_EQ(received.finish->usage.completion_tokens, 0);
  EXPECT_EQ(received.text, "");
  std::string out;
  for (const float value : received.events.back().embedding) out += fmt::format("{} ", value);
  return out;
}

TEST(Pooled, EachKindTakesItsStates) {
  struct Case {
    model::Pooling type;
    const char* vector;
    int states;
  };
  for (const Case& c : {Case{model::Pooling::kMean, "4 1 ", 3}, Case{model::Pooling::kCls, "2 1 ", 1},
                        Case{model::Pooling::kLast, "7 1 ", 1}}) {
    for (const int32_t rows : {512, 1, 2}) {  // in one step, and in several
      StateEngine engine(c.type, rows);
      EXPECT_EQ(PooledBy(engine, {2, 3, 7}), c.vector) << rows;
      EXPECT_EQ(engine.states, c.states);
    }
  }
}

TEST(Pooled, AVectorHasLengthOneWhereItIsToHave) {
  StateEngine engine(model::Pooling::kMean);
  engine.info_.pooling.normalise = true;
  const double length = std::sqrt(16.0 + 1.0);
  EXPECT_EQ(PooledBy(engine, {2, 3, 7}),
            fmt::format("{} {} ", static_cast<float>(4 / length), static_cast<float>(1 / length)));
}

TEST(Pooled, AHeadTakesThePooledStateAsItIsAndIsNormalisedItself) {
  StateEngine engine(model::Pooling::kMean);
  engine.info_.head_outputs = 3;
  EXPECT_EQ(PooledBy(engine, {2, 3, 7}), "4 1 2 ");
  engine.info_.pooling.normalise = true;
  const double length = std::sqrt(16.0 + 1.0 + 4.0);
  EXPECT_EQ(PooledBy(engine, {2, 3, 7}), fmt::format("{} {} {} ", static_cast<float>(4 / length),
                                                     static_cast<float>(1 / length), static_cast<float>(2 / length)));
  engine.head_fails = true;
  EXPECT_EQ(PooledBy(engine, {2, 3, 7}), "the head is gone");
}

TEST(Pooled, StatesThatAreNoNumbersAreAnError) {
  StateEngine engine(model::Pooling::kMean);
  engine.bad = 3;
  EXPECT_EQ(PooledBy(engine, {2, 3, 7}), "the model's hidden states are not numbers");
  EXPECT_EQ(PooledBy(engine, {2, 7}), "4.5 1 ") << "that request alone";
}

}  // namespace
}  // namespace inferflux::scheduler
