// Runs the bundled model on every engine of this build. Then checks that the suite detects engines that are broken in
// one way each.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "base/thread_pool.h"
#include "parity/compare.h"
#include "parity/run_parity.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::parity {
namespace {

const std::string kModel = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";

TEST(Parity, EveryEngineOfThisBuildGivesWhatTheReferenceGives) {
  ThreadPool pool(2);
  const auto engines = serving::BuiltInEngines(pool);
  const auto model = PrepareParity(engines, kModel);
  ASSERT_TRUE(model) << model.error().message;
  const auto rows = RunParity(engines, *model, [](const ParityRow&) {});
  size_t present = 0;
  for (const auto& engine : engines) present += engine.make ? 1 : 0;
  // load, engine checks, room, generation checks
  EXPECT_EQ(rows.size(), present * (EngineChecks().size() + GenerationChecks().size() + 2));
  for (const ParityRow& row : rows) {
    EXPECT_TRUE(row.outcome == Outcome::kSame)
        << row.backend << " (" << row.provider << "), " << row.check << ": " << row.detail;
    EXPECT_FALSE(row.detail.starts_with("0 requests")) << row.check << " compares nothing: " << row.detail;
  }
}

// A directory with a quantised checkpoint whose tokenizer has no letters.
TEST(Parity, ATokenizerThatKnowsNoTextIsNamed) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(::testing::TempDir()) / "inferflux_parity_no_text";
  fs::remove_all(directory);
  fs::copy(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/checkpoints/mlx_qwen3_moe-hf", directory);
  std::ofstream(directory / "tokenizer.json")
      << R"({"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"1":0,"2":1,"3":2},"merges":[]}})";
  ThreadPool pool(2);
  const auto model = PrepareParity(serving::BuiltInEngines(pool), directory);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("makes 0 tokens of 'The old"), std::string::npos) << model.error().message;
  fs::remove_all(directory);
}

// Forwards all calls, except for the part that a test breaks.
class BrokenEngine : public engine::Engine {
 public:
  struct Faults {
    float noise = 0.0f;           // added to every logit
    bool keeps_the_tail = false;  // does not truncate, but reports success
    bool first_of_ties = false;   // samples the lowest id instead of the best
    bool mixes_rows = false;      // returns the first sequence's logits for all
    bool damages_saved = false;   // changes saved bytes
    bool cannot_cut = false;      // says that it cannot truncate
  };

  BrokenEngine(std::unique_ptr<engine::Engine> engine, const Faults& faults)
      : engine_(std::move(engine)), faults_(faults), info_(engine_->info()) {
    if (faults_.cannot_cut) info_.capabilities.speculative_verification = false;
  }

  const engine::EngineInfo& info() const override { return info_; }
  Result<engine::PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override {
    return engine_->Open(tokens, salt);
  }
  Result<engine::SequenceId> Fork(engine::SequenceId id) override { return engine_->Fork(id); }
  Status Reserve(engine::SequenceId id, int32_t tokens) override { return engine_->Reserve(id, tokens); }
  Status Truncate(engine::SequenceId id, int32_t length) override {
    if (faults_.keeps_the_tail && length > 0) return {};
    return engine_->Truncate(id, length);
  }
  Status Close(engine::SequenceId id) override { return engine_->Close(id); }
  Result<std::vector<std::byte>> Save(engine::SequenceId id) override {
    auto saved = engine_->Save(id);
    if (saved && faults_.damages_saved) std::ranges::reverse(std::span(*saved).last(saved->size() / 2));
    return saved;
  }
  Result<engine::SequenceId> Restore(std::span<const TokenId> tokens, uint64_t salt,
                                     std::span<const std::byte> saved) override {
    return engine_->Restore(tokens, salt, saved);
  }
  Result<int32_t> Length(engine::SequenceId id) const override { return engine_->Length(id); }
  engine::KvUsage usage() const override { return engine_->usage(); }

  Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
    auto result = engine_->ExecuteUnifiedBatch(batch);
    if (!result) return result;
    for (auto& item : result->items) {
      for (auto& output : item) {
        float sign = faults_.noise;
        for (float& logit : output.logits) logit += sign = -sign;
        if (faults_.first_of_ties && output.logits.empty()) output.token = 0;
      }
    }
    if (faults_.mixes_rows && result->items.size() > 1) result->items.back() = result->items.front();
    return result;
  }

 private:
  std::unique_ptr<engine::Engine> engine_;
  Faults faults_;
  engine::EngineInfo info_;
};

struct Fault {
  const char* name;
  BrokenEngine::Faults faults;
  const char* check;  // the check that must detect it
};

class Breakage : public ::testing::TestWithParam<Fault> {};

TEST_P(Breakage, IsSeen) {
  ThreadPool pool(1);
  auto engines = serving::BuiltInEngines(pool);
  static const auto model = PrepareParity(engines, kModel);
  ASSERT_TRUE(model) << model.error().message;
  // The first engine other than the oracle, broken.
  const auto subject =
      std::ranges::find_if(engines, [](const auto& e) { return e.target != serving::Target::kReference && e.make; });
  ASSERT_NE(subject, engines.end());
  serving::EngineEntry broken = *subject;
  broken.make = [make = subject->make](const serving::EngineRequest& request) {
    auto engine = make(request);
    return Result<std::unique_ptr<engine::Engine>>(
        std::make_unique<BrokenEngine>(std::move(*engine), GetParam().faults));
  };
  const auto rows = RunParity(std::span(&broken, 1), *model, [](const ParityRow&) {});
  EXPECT_FALSE(Passed(rows));
  bool seen = false;
  for (const ParityRow& row : rows) {
    seen = seen || (row.check == GetParam().check && row.outcome == Outcome::kDifferent);
  }
  EXPECT_TRUE(seen) << GetParam().check;
}

INSTANTIATE_TEST_SUITE_P(
    All, Breakage,
    ::testing::Values(Fault{"Noise", {.noise = 0.2f}, "prefill"}, Fault{"Tail", {.keeps_the_tail = true}, "truncate"},
                      Fault{"Saved", {.damages_saved = true}, "save and restore"},
                      Fault{"SavedWithoutCuts", {.damages_saved = true, .cannot_cut = true}, "save and restore"},
                      Fault{"Sampler", {.first_of_ties = true}, "samplers"},
                      Fault{"Rows", {.mixes_rows = true}, "unified batch"}),
    [](const auto& info) { return info.param.name; });

TEST(Parity, LogitsBeyondTheOraclesAndNoLogitsAreNoComparison) {
  const std::vector<float> row{1.0f, 2.0f};
  const Oracle oracle{.logits = {row, row, row}};
  const std::vector<std::vector<float>> two{row, row};
  EXPECT_TRUE(CompareLogits(two, oracle, 1, 1e-6)) << "the last rows";
  EXPECT_FALSE(CompareLogits(two, oracle, 2, 1e-6)) << "one row too far";
  EXPECT_FALSE(CompareLogits({}, oracle, 1, 1e-6));
  EXPECT_FALSE(CompareLogits({row, {1.0f, 2.1f}}, oracle, 0, 1e-2));
  EXPECT_TRUE(CompareLogits({row, {1.0f, 2.1f}}, oracle, 0, 5e-2));
}

TEST(Parity, OnlyANearTieExcusesAnotherToken) {
  const Answer expected{.prompt = {1}, .tokens = std::vector<TokenId>(100, 5), .gaps = std::vector<float>(100, 1.0f)};
  Answer near = expected;
  near.gaps[60] = 0.01f;
  std::vector<TokenId> said = expected.tokens;
  said[60] = 6;
  GreedyComparison tie(0.1), difference(0.1);
  tie.Add(near, said);
  EXPECT_TRUE(tie.finding()) << tie.finding().error().message;
  difference.Add(expected, said);
  EXPECT_FALSE(difference.finding());
  GreedyComparison many(0.1);
  near.gaps[10] = 0.01f;
  said[10] = 6;
  many.Add(near, said);
  EXPECT_FALSE(many.finding()) << "1 tie in 11 positions is more than 2%";
}

}  // namespace
}  // namespace inferflux::parity
