// This test's own backends: one that samples with the host's sampler, so that its choices can be compared bit for bit,
// and one with little memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "compute/reference/reference_backend.h"
#include "engine/native/native_backends.h"
#include "engine/native/native_engine.h"
#include "engine/sampling/sampler.h"
#include "model/families/family.h"
#include "support/sampler_checklist.h"

namespace inferflux::engine {
namespace {

// Rows of logits that reached the host, and rows that were sampled. Global, because a backend's operations are static.
struct Traffic {
  int64_t read = 0;
  int64_t sampled = 0;
};
thread_local Traffic traffic;  // NOLINT: of this test's engines

struct SamplingReference : compute::Reference {
  // Leaves masks to the host, as a device without mask support may.
  static bool CanSample(const compute::SampleRow& row) { return row.context.mask == nullptr; }
  static Result<std::vector<compute::SampledToken>> Sample(Context&, View logits,
                                                           std::span<const compute::SampleRow> rows) {
    std::vector<compute::SampledToken> out;
    Sampler sampler;
    for (size_t r = 0; r < rows.size(); ++r) {
      std::vector<float> row(logits.row(static_cast<int64_t>(r)), logits.row(static_cast<int64_t>(r)) + logits.cols);
      OutputResult chosen = sampler.Sample(row, *rows[r].params, rows[r].context);
      out.push_back({.token = chosen.token, .chosen = chosen.chosen, .top = std::move(chosen.top)});
    }
    traffic.sampled += static_cast<int64_t>(rows.size());
    return out;
  }
  static std::vector<float> Read(Context& context, View x) {
    traffic.read += x.rows;
    return Reference::Read(context, x);
  }
};
static_assert(compute::DeviceSampling<SamplingReference> && !compute::DeviceSampling<compute::Reference>);

// Its device has 4 MB, half of it free.
struct SmallDevice : compute::Reference {
  static compute::MemoryInfo Memory(const Context& context) {
    return {.total = 4 << 20, .free = 2 << 20, .weight_bytes = context.weight_bytes};
  }
};

template <class B>
std::unique_ptr<Engine> MakeOn(const EngineOptions& options) {
  const auto path = std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models/mistral.gguf";
  auto source = model::ModelSource::Open(path.string());
  EXPECT_TRUE(source) << source.error().message;
  auto config = model::ReadModelConfig(**source);
  EXPECT_TRUE(config) << config.error().message;
  auto engine = NativeEngine<B, compute::KvFp16>::Create(std::make_unique<typename B::Context>(), std::move(*config),
                                                         std::move(*source), options);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

const EngineOptions kSmall{.max_sequences = 16, .block_size = 16, .kv_bytes = 1 << 20};

TEST(DeviceSampling, KeepsTheSamplersChecklist) {
  const auto engine = MakeOn<SamplingReference>(kSmall);
  EXPECT_TRUE(engine->info().capabilities.device_sampling);
  testing::CheckSampler(*engine);
}

// Two sequences with outputs of all kinds, some of which only the host can compute.
UnifiedBatch MixedStep(Engine& engine) {
  const int32_t vocab = engine.info().vocab_size;
  std::mt19937 random(11);
  UnifiedBatch batch;
  for (int s = 0; s < 2; ++s) {
    BatchItem item{.sequence = engine.Open({}, 0)->sequence};
    for (int i = 0; i < 9; ++i) item.tokens.push_back(static_cast<TokenId>(random() % static_cast<uint32_t>(vocab)));
    EXPECT_TRUE(engine.Reserve(item.sequence, 9));
    auto mask = std::make_shared<TokenMask>(vocab);
    mask->Allow(7 + s);
    const auto kinds = {OutputSpec::Kind::kSample, OutputSpec::Kind::kHidden, OutputSpec::Kind::kLogprobs};
    for (const auto kind : kinds) item.outputs.push_back({.token_index = 3, .kind = kind, .target = 5});
    item.outputs.push_back({.token_index = 8, .sampling = {.top_p = 0.9f, .seed = 3}, .top_logprobs = 2});
    item.outputs.push_back({.token_index = 8, .sampling = {.seed = 4}, .mask = mask});
    item.outputs.push_back({.token_index = 8, .sampling = {.mirostat = true, .seed = 5}});
    item.outputs.push_back({.token_index = 8,
                            .sampling = {.repetition_penalty = 1.7f, .presence_penalty = 0.5f, .seed = 6},
                            .prompt_tokens = 4,
                            .draw = 9});
    batch.items.push_back(std::move(item));
  }
  return batch;
}

TEST(DeviceSampling, ChoosesWhatTheHostChoosesAndReadsOnlyTheOtherRows) {
  const auto device = MakeOn<SamplingReference>(kSmall);
  const auto host = MakeOn<compute::Reference>(kSmall);
  traffic = {};
  const auto ours = device->ExecuteUnifiedBatch(MixedStep(*device));
  ASSERT_TRUE(ours) << ours.error().message;
  EXPECT_EQ(traffic.sampled, 2 * 3) << "neither masks nor mirostat";
  EXPECT_EQ(traffic.read, 2 * (3 + 1)) << "log probabilities, the mask, mirostat; and hidden states";
  const auto theirs = host->ExecuteUnifiedBatch(MixedStep(*host));
  ASSERT_TRUE(theirs) << theirs.error().message;
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(ours->items[i].size(), theirs->items[i].size());
    for (size_t o = 0; o < ours->items[i].size(); ++o) {
      const OutputResult &a = ours->items[i][o], &b = theirs->items[i][o];
      EXPECT_EQ(a.token, b.token) << i << ", " << o;
      EXPECT_EQ(a.mirostat_mu, b.mirostat_mu);
      EXPECT_EQ(a.chosen.logprob, b.chosen.logprob);
      EXPECT_EQ(a.top.size(), b.top.size());
      EXPECT_EQ(a.hidden, b.hidden);
    }
    EXPECT_EQ(ours->items[i][4].token, static_cast<TokenId>(7 + i)) << "what the mask allows";
  }
}

TEST(DeviceSampling, ADecodeStepReadsNoLogits) {
  const auto engine = MakeOn<SamplingReference>(kSmall);
  const SequenceId id = engine->Open({}, 0)->sequence;
  ASSERT_TRUE(engine->Prefill(id, std::vector<TokenId>{1, 2, 3}, {.sampling = {.temperature = 0.0f}}));
  traffic = {};
  ASSERT_TRUE(engine->Decode(std::vector<NextToken>{{.sequence = id, .token = 4}}));
  EXPECT_EQ(traffic.read, 0);
  EXPECT_EQ(traffic.sampled, 1);
}

TEST(KvBudget, IsPlannedFromTheDevicesMemory) {
  const auto engine = MakeOn<SmallDevice>({.max_sequences = 1000, .block_size = 16});
  const EngineInfo& info = engine->info();
  EXPECT_LE(info.memory[0].kv_bytes, 2 << 20 >> 2) << "a quarter of what is free on the device";
  EXPECT_GT(info.memory[0].kv_bytes, (2 << 20 >> 2) - (64 << 10));
}

TEST(EngineCalls, PrefillAndDecodeAreTheUnifiedStep) {
  const auto engine = MakeOn<compute::Reference>(kSmall);
  const std::vector<TokenId> prompt = {5, 9, 2, 8, 8, 1};
  const OutputSpec logits{.kind = OutputSpec::Kind::kLogits};
  const SequenceId whole = engine->Open({}, 1)->sequence, parts = engine->Open({}, 2)->sequence;
  const auto expected = engine->Prefill(whole, prompt, logits);
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(engine->Prefill(parts, std::span(prompt).first(5), logits));
  const SequenceId other = engine->Open({}, 3)->sequence;
  const auto decoded = engine->Decode(std::vector<NextToken>{
      {.sequence = other, .token = 3}, {.sequence = parts, .token = prompt[5], .output = logits}});
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_EQ(decoded->size(), 2u);
  EXPECT_EQ((*decoded)[1].logits, expected->logits);
  EXPECT_NE((*decoded)[0].token, kNoToken);
  EXPECT_EQ(*engine->Length(parts), 6);

  EXPECT_FALSE(engine->Prefill(parts, {})) << "no tokens";
  EXPECT_FALSE(engine->Prefill(parts, std::vector<TokenId>{-1}));
  EXPECT_EQ(*engine->Length(parts), 6) << "an error changes nothing";
}

TEST(EngineCalls, SubmitAndCollectAreTheUnifiedStep) {
  const auto engine = MakeOn<compute::Reference>(kSmall);
  EXPECT_EQ(engine->Collect().error().code, ErrorCode::kInvalidArgument) << "no step was submitted";
  const SequenceId id = engine->Open({}, 1)->sequence;
  ASSERT_TRUE(engine->Reserve(id, 8));
  const UnifiedBatch batch{{{.sequence = id, .tokens = {4, 7}, .outputs = {{.token_index = 1}}}}};
  ASSERT_TRUE(engine->Submit(batch));
  EXPECT_EQ(engine->Submit(batch).error().code, ErrorCode::kInvalidArgument) << "one step at a time";
  const auto result = engine->Collect();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->items[0].size(), 1u);
  EXPECT_EQ(*engine->Length(id), 2);
  EXPECT_FALSE(engine->Collect()) << "a result is given once";

  ASSERT_TRUE(engine->Submit(batch)) << "its position is wrong by now";
  EXPECT_EQ(engine->Collect().error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(engine->Submit({{{.sequence = id, .tokens = {1}, .first_position = 2}}})) << "a failed step is over";
  EXPECT_TRUE(engine->Collect());
}

}  // namespace
}  // namespace inferflux::engine
