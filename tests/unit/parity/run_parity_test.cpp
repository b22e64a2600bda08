// How the checks are run on the engines of a build, and what is reported of each.
#include "parity/run_parity.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/thread_pool.h"
#include "parity/toy_engine.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::parity {
namespace {

namespace fs = std::filesystem;
using serving::EngineEntry;
using serving::EngineRequest;

ParityModel ToyModel() {
  return {.source = nullptr, .text = ToyText(), .oracle = ToyOracle(), .bounds = BoundsFor("F32")};
}

std::vector<std::string> RowsOf(const std::vector<EngineEntry>& engines) {
  std::vector<std::string> reported, returned;
  const auto text = [](const ParityRow& row) {
    constexpr const char* kOutcomes[] = {"same", "different", "refused"};
    return fmt::format("{} {}, {}: {}, {}", row.provider, row.backend, row.check,
                       kOutcomes[static_cast<int>(row.outcome)], row.detail);
  };
  const auto rows = RunParity(engines, ToyModel(), [&](const ParityRow& row) { reported.push_back(text(row)); });
  for (const ParityRow& row : rows) returned.push_back(text(row));
  EXPECT_EQ(reported, returned);
  return returned;
}

template <class Engine>
serving::EngineMaker Makes() {
  return [](const EngineRequest&) { return Result<std::unique_ptr<engine::Engine>>(std::make_unique<Engine>()); };
}
serving::EngineMaker Refuses(ErrorCode code) {
  return
      [code](const EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> { return Fail(code, "not this model"); };
}

TEST(RunParity, SaysOfEachEngineWhatWasSeen) {
  const auto rows = RowsOf({{.target = serving::Target::kCuda, .make = {}, .why_absent = "not in this build"},
                            {.target = serving::Target::kCpu, .make = Makes<ToyEngine>()}});
  ASSERT_EQ(rows.size(), EngineChecks().size() + GenerationChecks().size() + 2);
  EXPECT_EQ(rows[0], "native cpu, load: same, none KV, vocabulary of 300, 16 sequences");
  EXPECT_EQ(rows[1], "native cpu, prefill: same, 48 positions, at most 0.0e+00 off");
  EXPECT_EQ(rows[10], "native cpu, samplers: same, 8 settings");
  EXPECT_EQ(rows[13], "native cpu, all room given back: same, 0 blocks in use");
  EXPECT_EQ(rows[14].find("native cpu, many at once: same, 24 requests, "), 0u) << rows[14];
  EXPECT_EQ(rows[16], "native cpu, length limit: same, 9 tokens, past the end token");
}

TEST(RunParity, AnEngineThatCannotServeTheModelHasOneRow) {
  using Rows = std::vector<std::string>;
  EXPECT_EQ(RowsOf({{.target = serving::Target::kVulkan,
                     .provider = serving::Provider::kLlamaCpp,
                     .make = Refuses(ErrorCode::kUnsupported)}}),
            (Rows{"llama_cpp vulkan, load: refused, not this model"}));
  EXPECT_EQ(RowsOf({{.make = Refuses(ErrorCode::kDataLoss)}}), (Rows{"native cpu, load: different, not this model"}));
}

TEST(RunParity, AnotherVocabularyAndBlocksThatAreKeptAreDifferent) {
  struct Larger : ToyEngine {
    Larger() { ++info_.vocab_size; }
  };
  EXPECT_EQ(RowsOf({{.make = Makes<Larger>()}})[0],
            "native cpu, load: different, none KV, vocabulary of 301, 16 sequences");
  struct Keeps : ToyEngine {
    Status Close(engine::SequenceId id) override {
      if (kv_.usage().blocks_used != 12 || kept) return ToyEngine::Close(id);
      kept = true;
      return {};
    }
    bool kept = false;
  };
  EXPECT_EQ(RowsOf({{.make = Makes<Keeps>()}})[13], "native cpu, all room given back: different, 12 blocks in use");
}

TEST(RunParity, ASchedulerThatDoesNotStartIsReported) {
  auto times = std::make_shared<int>(0);
  const auto rows = RowsOf({{.make = [times](const EngineRequest& request) {
    return (++*times == 1 ? Makes<ToyEngine>() : Refuses(ErrorCode::kUnsupported))(request);
  }}});
  ASSERT_EQ(rows.size(), 15u);
  EXPECT_EQ(rows[14], "native cpu, scheduler: different, not this model");
}

TEST(RunParity, EnginesGetTheModelAndARoomForItsKv) {
  std::vector<int64_t> budgets;
  struct Remembers : ToyEngine {
    explicit Remembers(std::string& calls) : out(calls) {}
    Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
      out += fmt::format("{} from {}, ", batch.items[0].tokens.size(), batch.items[0].first_position);
      return ToyEngine::ExecuteUnifiedBatch(batch);
    }
    std::string& out;
  };
  std::vector<std::string> steps(2);
  RowsOf({{.make = [&](const EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
    budgets.push_back(request.config.kv_budget.value_or(-1));
    EXPECT_EQ(request.context, 0);
    EXPECT_EQ(request.config.kv_dtype, EngineRequest{}.config.kv_dtype);
    return std::make_unique<Remembers>(steps.at(budgets.size() - 1));
  }}});
  EXPECT_EQ(budgets, (std::vector<int64_t>{64 << 20, 64 << 20}));
  const std::string first = fmt::format("1 from 0, {} from 0, ", ToyOracle().answers[0].prompt.size());
  EXPECT_TRUE(steps[1].starts_with(first)) << "a warm-up of a single decode: " << steps[1].substr(0, 40);
}

TEST(RunParity, TheReferenceIsAskedInFullPrecision) {
  const std::string path = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";
  const std::vector<EngineEntry> none = {{.target = serving::Target::kCpu, .make = Makes<ToyEngine>()}};
  EXPECT_EQ(PrepareParity(none, path).error().message, "this build has no reference engine to compare with");
  EXPECT_EQ(PrepareParity(
                std::vector<EngineEntry>{
                    none[0], {.target = serving::Target::kReference, .make = Refuses(ErrorCode::kUnsupported)}},
                path)
                .error()
                .message,
            "the reference engine, which all others are compared with: not this model");
  EngineRequest asked;
  const std::vector<EngineEntry> reference = {
      {.target = serving::Target::kReference, .make = [&](const EngineRequest& request) {
         asked = request;
         return Refuses(ErrorCode::kDataLoss)(request);
       }}};
  EXPECT_FALSE(PrepareParity(reference, path));
  EXPECT_EQ(asked.config.kv_dtype, "fp32");
  EXPECT_EQ(asked.config.kv_budget, 64 << 20);
  EXPECT_FALSE(PrepareParity(none, path + ".absent"));
}

// The text for the comparison has 16 letters d, and 15 letters of f, v, k, w and c.
TEST(RunParity, ATextOf16TokensIsEnough) {
  const fs::path directory = fs::path(::testing::TempDir()) / "inferflux_parity_few_letters";
  const auto error = [&](const std::string& vocabulary) {
    fs::remove_all(directory);
    fs::copy(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/checkpoints/mlx_qwen3_moe-hf", directory);
    std::ofstream(directory / "tokenizer.json")
        << R"({"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{)" << vocabulary
        << R"(},"merges":[]}})";
    ThreadPool pool(1);
    const auto model = PrepareParity(serving::BuiltInEngines(pool), directory);
    fs::remove_all(directory);
    return model ? "" : model.error().message;
  };
  const std::string why = " are needed: on texts that it does not know engines cannot be compared";
  const std::string few = error(R"("f":0,"1":1,"2":2,"v":3,"k":4,"w":5,"c":6)");
  EXPECT_EQ(few.find("the model's tokenizer makes 15 tokens of 'The old lighthouse "), 0u) << few;
  EXPECT_NE(few.find("', and 16" + why), std::string::npos) << few;
  EXPECT_EQ(error(R"("d":0)"), "the model's tokenizer makes 0 tokens of 'What is the capital of France?', and 1" + why);
}

}  // namespace
}  // namespace inferflux::parity
