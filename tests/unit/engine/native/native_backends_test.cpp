// Tests that hold for every compute backend of this build: the sampler's checklist, devices, memory, the time of a
// step, and what is derived from its concepts.
#include "engine/native/native_backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "model/families/family.h"
#include "support/sampler_checklist.h"

namespace inferflux::engine {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const model::ModelSource> OpenModel(const std::string& name) {
  const auto path = std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models" / name;
  auto source = model::ModelSource::Open(path.string());
  EXPECT_TRUE(source) << source.error().message;
  return std::move(*source);
}

class EveryBackend : public ::testing::TestWithParam<NativeBackend> {
 protected:
  Result<std::unique_ptr<Engine>> Make(const EngineOptions& wanted, const std::string& model = "mistral.gguf") {
    const auto source = OpenModel(model);
    EngineOptions options = wanted;
    options.kv_bytes = 1 << 20;
    options.max_sequences = 16;
    options.device.pool = &pool_;
    return GetParam().create(*model::ReadModelConfig(*source), source, options);
  }

  ThreadPool pool_{1};
};

TEST_P(EveryBackend, KeepsTheSamplersChecklist) {
  const auto engine = Make({});
  ASSERT_TRUE(engine) << engine.error().message;
  testing::CheckSampler(**engine);
}

TEST_P(EveryBackend, RunsOnTheDeviceThatIsNamed) {
  const auto devices = GetParam().devices({.pool = &pool_});
  ASSERT_FALSE(devices.empty());
  for (const std::string& word : {std::string(), std::string("0"), devices[0].id, devices[0].name}) {
    EXPECT_TRUE(Make({.device = {.device = word}})) << word;
  }
  for (const std::string word : {"1", "-1", "cuda", "GPU-5e2f", "0x0", "99999999999999999999"}) {
    const auto engine = Make({.device = {.device = word}});
    ASSERT_FALSE(engine) << word;
    EXPECT_EQ(engine.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(engine.error().message, HasSubstr("no device '" + word + "': it has 0 (" + devices[0].name));
  }
}

TEST_P(EveryBackend, TellsWhatItsWeightsTake) {
  const auto engine = Make({});
  ASSERT_TRUE(engine) << engine.error().message;
  ASSERT_EQ((*engine)->info().memory.size(), 1u);
  EXPECT_GT((*engine)->info().memory[0].weight_bytes, OpenModel("mistral.gguf")->WeightBytes() / 2);
  EXPECT_LE((*engine)->info().memory[0].kv_bytes, 1 << 20);
}

TEST_P(EveryBackend, TimesAStepWhereThatIsAskedFor) {
  const std::vector<TokenId> tokens(20, 3);
  for (const bool timed : {false, true}) {
    const auto engine = Make({.time_steps = timed});
    ASSERT_TRUE(engine) << engine.error().message;
    const SequenceId id = (*engine)->Open({}, 0)->sequence;
    ASSERT_TRUE((*engine)->Reserve(id, 20));
    const auto step = (*engine)->ExecuteUnifiedBatch({{{.sequence = id, .tokens = tokens}}});  // no outputs: lazy work
    ASSERT_TRUE(step) << step.error().message;
    ASSERT_EQ(step->device_seconds.has_value(), timed);
    if (timed) {
      EXPECT_GT(*step->device_seconds, 0.0);
    }
  }
}

TEST_P(EveryBackend, DerivesWhatTheModelCanDo) {
  const auto decoder = Make({});
  ASSERT_TRUE(decoder) << decoder.error().message;
  const compute::Capabilities& can = (*decoder)->info().capabilities;
  EXPECT_TRUE(can.generation && can.phased_execution && can.unified_execution && can.prefix_copy && can.logprobs &&
              can.structured_output && can.speculative_verification && can.kv_save_restore);
  EXPECT_FALSE(can.multimodal) << "no backend has this concept";
  EXPECT_EQ(can.device_sampling, GetParam().name == "cuda");
  EXPECT_EQ(can.graph_capture, GetParam().name == "cuda");
  const auto plain = Make({.graphs = false});
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_FALSE((*plain)->info().capabilities.graph_capture);

  const auto encoder = Make({}, "bert.gguf");
  ASSERT_TRUE(encoder) << encoder.error().message;
  const compute::Capabilities& embeds = (*encoder)->info().capabilities;
  EXPECT_TRUE(embeds.embeddings);
  EXPECT_FALSE(embeds.graph_capture) << "it decodes nothing";
  EXPECT_EQ(embeds.batch_invariant, can.batch_invariant);
  EXPECT_FALSE(embeds.generation || embeds.phased_execution || embeds.unified_execution || embeds.prefix_copy ||
               embeds.logprobs || embeds.structured_output || embeds.speculative_verification ||
               embeds.kv_save_restore);
}

INSTANTIATE_TEST_SUITE_P(Native, EveryBackend, ::testing::ValuesIn(NativeBackends().begin(), NativeBackends().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(NativeBackends, OneThatThisBuildLacksIsNamedWithThoseThatThereAre) {
  const auto source = OpenModel("mistral.gguf");
  const auto engine = CreateEngine("abacus", *model::ReadModelConfig(*source), source, {});
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message, HasSubstr("no compute backend 'abacus': it has cpu, reference"));
}

TEST(NativeBackends, TheCpuNeedsItsThreads) {
  const auto source = OpenModel("mistral.gguf");
  const auto engine = CreateEngine("cpu", *model::ReadModelConfig(*source), source, {});
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message, HasSubstr("needs a thread pool"));
}

}  // namespace
}  // namespace inferflux::engine
