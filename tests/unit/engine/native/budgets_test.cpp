// What an engine plans from its options: KV blocks, recurrent states, and the shapes of steps that it captures.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/native/graphs/graph_shape.h"
#include "engine/native/kv_budget.h"
#include "engine/native/sample_rows.h"
#include "engine/step_outputs.h"

namespace inferflux::engine {
namespace {

std::string Plan(const model::ModelConfig& config, const EngineOptions& options, int64_t available = 1 << 20,
                 int64_t token_bytes = 10) {
  const auto plan = PlanKv(config, token_bytes, options, available);
  if (!plan) return plan.error().message;
  return fmt::format("{} blocks, context {}, {} states, {} sequences", plan->blocks, plan->context, plan->states,
                     plan->sequences);
}

const model::ModelConfig kPlain{.context = 1000, .layer_kinds = {{.kv = {2, 64}}}};

TEST(KvBudgetLimits, OptionsHaveTheirRange) {
  const auto block = [](int32_t n) { return Plan(kPlain, {.max_sequences = 1, .block_size = n, .kv_bytes = 1 << 20}); };
  EXPECT_EQ(block(0), "a KV block of 0 tokens: it must hold 1 to 1024");
  EXPECT_EQ(block(1), "1001 blocks, context 1000, 0 states, 1 sequences");
  EXPECT_EQ(block(1024), "2 blocks, context 1000, 0 states, 1 sequences");
  EXPECT_EQ(block(1025), "a KV block of 1025 tokens: it must hold 1 to 1024");
  const auto sequences = [](int32_t n) {
    return Plan(kPlain, {.max_sequences = n, .block_size = 16, .kv_bytes = 3200});
  };
  EXPECT_EQ(sequences(0), "0 sequences: there may be 1 to 65536");
  EXPECT_EQ(sequences(1), "20 blocks, context 320, 0 states, 1 sequences");
  EXPECT_EQ(sequences(65536), "20 blocks, context 320, 0 states, 65536 sequences");
  EXPECT_EQ(sequences(65537), "65537 sequences: there may be 1 to 65536");
  const auto context = [](int32_t n) {
    return Plan(kPlain, {.context = n, .max_sequences = 2, .block_size = 16, .kv_bytes = 1 << 20});
  };
  EXPECT_EQ(context(-1), "a context of -1 tokens: this model was trained for 1000");
  EXPECT_EQ(context(0), "127 blocks, context 1000, 0 states, 2 sequences");
  EXPECT_EQ(context(16), "3 blocks, context 16, 0 states, 2 sequences");
  EXPECT_EQ(context(17), "5 blocks, context 17, 0 states, 2 sequences");
  EXPECT_EQ(context(1000), "127 blocks, context 1000, 0 states, 2 sequences");
  EXPECT_EQ(context(1001), "a context of 1001 tokens: this model was trained for 1000");
}

TEST(KvBudgetLimits, MemoryIsWhatIsGivenOrAQuarterOfWhatIsFree) {
  const auto bytes = [](int64_t n, int64_t available = 1 << 20) {
    return Plan(kPlain, {.max_sequences = 8, .block_size = 16, .kv_bytes = n}, available);
  };
  EXPECT_EQ(bytes(-1), "a negative KV budget: -1 bytes");
  EXPECT_EQ(bytes(159), "159 bytes for KV do not hold one block of 16 tokens, 160 bytes");
  EXPECT_EQ(bytes(160), "1 blocks, context 16, 0 states, 8 sequences");
  EXPECT_EQ(bytes(0, 1280), "2 blocks, context 32, 0 states, 8 sequences");
  EXPECT_EQ(bytes(0, 639), "159 bytes for KV do not hold one block of 16 tokens, 160 bytes");
  EXPECT_EQ(Plan(kPlain, {.max_sequences = 1, .block_size = 16, .kv_bytes = 5}, 0, 0),
            "5 blocks, context 80, 0 states, 1 sequences")
      << "a model without KV";
}

TEST(KvBudgetLimits, RecurrentStatesTakeHalfAtMost) {
  // A state of 100 values, 400 bytes.
  model::ModelConfig config = kPlain;
  config.layer_kinds = {{.recurrent = true}};
  config.hidden = 50;
  config.conv_taps = 3;
  const auto bytes = [&](int64_t n, int32_t sequences = 2) {
    return Plan(config, {.max_sequences = sequences, .block_size = 16, .kv_bytes = n});
  };
  EXPECT_EQ(bytes(3199), "1599 bytes for recurrent states do not hold 4 of 400 bytes, which one sequence needs");
  EXPECT_EQ(bytes(3200), "10 blocks, context 160, 4 states, 1 sequences");
  EXPECT_EQ(bytes(6400), "20 blocks, context 320, 8 states, 2 sequences");
  EXPECT_EQ(bytes(1 << 20), "127 blocks, context 1000, 262 states, 2 sequences") << "3 for each sequence and 256";
  EXPECT_EQ(bytes(6400, 1), "20 blocks, context 320, 8 states, 1 sequences");
}

int32_t Padded(int32_t rows) { return rows > 8 ? 0 : (rows + 3) / 4 * 4; }

TEST(GraphShapes, AreKnownAhead) {
  const auto ahead = [](const GraphLimits& limits) {
    std::string out;
    for (const GraphShape& shape : ShapesAhead(limits, &Padded)) out += fmt::format("{}x{} ", shape.rows, shape.tokens);
    return out;
  };
  EXPECT_EQ(ahead({.sequences = 20, .context = 5000}), "4x1024 8x1024 ");
  EXPECT_EQ(ahead({.sequences = 8, .context = 5000}), "4x1024 8x1024 ");
  EXPECT_EQ(ahead({.sequences = 6, .context = 500}), "4x500 6x500 ");
  EXPECT_EQ(ahead({.sequences = 4, .context = 500}), "4x500 ");
  EXPECT_EQ(ahead({.sequences = 1, .context = 500}), "1x500 ");
  EXPECT_EQ(ahead({.sequences = 20, .context = 500, .pads = false}), "4x500 8x500 ");
  EXPECT_EQ(ahead({.sequences = 20, .context = 500, .ahead = false}), "");
}

TEST(SampleRows, AreThoseThatTheDeviceCanChoose) {
  const std::vector<TokenId> held{7, 8};
  OutputSpec sample{
      .token_index = 1, .sampling = {.temperature = 0.5f}, .prompt_tokens = 3, .draw = 4, .top_logprobs = 2};
  sample.banned = {9};
  sample.mask = std::make_shared<TokenMask>(10);
  const OutputSpec hidden{.kind = OutputSpec::Kind::kHidden}, logits{.kind = OutputSpec::Kind::kLogits};
  OutputSpec mirostat, early = sample;
  mirostat.sampling.mirostat = true;
  early.token_index = 0;
  const UnifiedBatch batch{
      .items = {{.tokens = {1, 2}, .first_position = 2, .outputs = {hidden, logits, sample, mirostat}},
                {.tokens = {5}, .first_position = 2, .outputs = {early, early}}}};
  int asked = 0;
  const DeviceRows rows = SplitSampling([&](SequenceId) { return std::span<const TokenId>(held); }, batch,
                                        [&](const compute::SampleRow&) { return ++asked != 2; });
  EXPECT_EQ(asked, 3) << "of samples without mirostat";
  EXPECT_EQ(rows.sampled, (std::vector<int32_t>{1, 4}));
  EXPECT_EQ(rows.read, (std::vector<int32_t>{0, 2, 3}));
  ASSERT_EQ(rows.rows.size(), 2u);
  const auto& first = rows.rows[0];
  EXPECT_EQ(first.params->temperature, 0.5f);
  EXPECT_EQ(std::vector<TokenId>(first.context.history.begin(), first.context.history.end()),
            (std::vector<TokenId>{7, 8, 1, 2}));
  EXPECT_EQ(first.context.prompt_tokens, 3);
  EXPECT_EQ(first.context.draw, 4u);
  EXPECT_EQ(first.context.banned.size(), 1u);
  EXPECT_EQ(first.context.mask, sample.mask.get());
  EXPECT_EQ(first.context.top_logprobs, 2);
  EXPECT_EQ(std::vector<TokenId>(rows.rows[1].context.history.begin(), rows.rows[1].context.history.end()),
            (std::vector<TokenId>{7, 8, 5}));
}

TEST(StepOutputs, TakeTheirRowsInOrder) {
  const std::vector<TokenId> held{1, 2};
  const OutputSpec greedy{.sampling = {.temperature = 0.0f}}, hidden{.kind = OutputSpec::Kind::kHidden},
      logits{.kind = OutputSpec::Kind::kLogits},
      target{.kind = OutputSpec::Kind::kLogprobs, .target = 1, .top_logprobs = 1};
  const UnifiedBatch batch{.items = {{.tokens = {1, 2}, .outputs = {hidden, greedy, logits}},
                                     {.tokens = {1, 2}, .outputs = {greedy, target, greedy}}}};
  // The device has chosen the second greedy one.
  std::vector<std::optional<compute::SampledToken>> sampled(5);
  sampled[2] = compute::SampledToken{.token = 2, .chosen = {.id = 2, .logprob = -1}, .top = {{.id = 0, .logprob = -2}}};
  std::vector<float> rows{0, 5, 0, 1, 2, 3, 0, 0, 0, 9, 0, 0};
  Sampler sampler;
  const auto result =
      MakeOutputs([&](SequenceId) { return std::span<const TokenId>(held); }, batch, rows, 3, sampler, sampled);
  ASSERT_EQ(result.items.size(), 2u);
  ASSERT_EQ(result.items[0].size(), 3u);
  ASSERT_EQ(result.items[1].size(), 3u);
  EXPECT_EQ(result.items[0][0].token, kNoToken);
  EXPECT_EQ(result.items[0][1].token, 1);
  EXPECT_EQ(result.items[0][2].logits, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(result.items[1][0].token, 2);
  EXPECT_EQ(result.items[1][0].chosen.logprob, -1);
  EXPECT_EQ(result.items[1][0].top.size(), 1u);
  EXPECT_EQ(result.items[1][1].token, 1);
  EXPECT_NEAR(result.items[1][1].chosen.logprob, -std::log(3.0), 1e-6);
  EXPECT_EQ(result.items[1][1].top.size(), 1u);
  EXPECT_EQ(result.items[1][2].token, 0);
}

}  // namespace
}  // namespace inferflux::engine
