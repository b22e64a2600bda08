// Why some models cannot be shared by ranks, reason by reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"
#include "model/shard.h"

namespace inferflux::model {
namespace {

using Change = std::function<void(ModelConfig&)>;

struct NamedTensor {
  const char* name;
  formats::TensorType type = formats::TensorType::kF32;
};

std::string Shared(const Change& change, const Parallelism& parallelism, const std::vector<NamedTensor>& names = {}) {
  std::vector<ModelSource::Tensor> tensors;
  for (const NamedTensor& each : names)
    tensors.push_back({.matrix = {.name = each.name, .type = each.type, .rows = 1, .cols = 1}});
  const ModelSource source("file", "gguf", formats::GgufMetadataBuilder().Build("file"), std::move(tensors), nullptr);
  ModelConfig config;
  config.architecture = "x";
  config.layers = 2;
  config.heads = 4;
  config.feed_forward = 64;
  config.vocab_size = 10;
  config.gated = false;
  config.layer_kinds = std::vector<LayerKind>(2, {.kv = {.heads = 2, .head_dim = 8}});
  change(config);
  const auto made = ShardConfig(config, source, parallelism, 0);
  if (!made) {
    const std::string why = "file: ranks cannot share a model of 'x': ";
    return made.error().message.starts_with(why) ? made.error().message.substr(why.size()) : made.error().message;
  }
  return fmt::format("{} layers, {} heads, {} of {} hidden, {} tokens", made->config.layers, made->config.heads,
                     made->config.feed_forward, made->shard.feed_forward.of, made->shard.vocab_size);
}

TEST(WholeModels, HaveAReason) {
  const std::pair<Change, const char*> cases[] = {
      {[](auto& c) { c.causal = false; }, "it is an encoder"},
      {[](auto& c) { c.pooling.labels = {"x"}; }, "it has a head for pooled states"},
      {[](auto& c) { c.head.push_back({}); }, "it has a head for pooled states"},
      {[](auto& c) { c.moe.experts = 1; }, "it has experts"},
      {[](auto& c) { c.latent = LatentConfig(); }, "its attention has latents"},
      {[](auto& c) { c.layer_kinds[1].recurrent = true; }, "it has recurrent layers"},
      {[](auto& c) { c.attention_sinks = true; }, "its attention has sinks"},
      {[](auto& c) { c.distance_biases = true; }, "its attention has biases by distance"},
      {[](auto& c) { c.attention_gate = true; }, "its attention has a gate"},
      {[](auto& c) { c.altup = AltUpConfig(); }, "its residual state has several streams"},
      {[](auto& c) { c.layer_input = 1; }, "its layers have inputs of their own from the tokens"},
      {[](auto& c) { c.layer_kinds[1].kv_layer = 0; }, "some of its layers read the keys and values of others"},
      {[](auto& c) { c.layer_kinds[1].gate_cut = 0.5f; }, "a cut of its gates depends on all of their values"},
      {[](auto& c) { c.layer_kinds[1].kv.heads = 0; }, "some of its layers lack attention or a feed-forward network"},
      {[](auto& c) { c.layer_kinds[1].feed_forward = false; },
       "some of its layers lack attention or a feed-forward network"}};
  for (const auto& [change, why] : cases) {
    EXPECT_EQ(Shared(change, {.tensor = 2}), why);
    EXPECT_EQ(Shared(change, {.pipeline = 2}), why);
    EXPECT_EQ(Shared(change, {}).substr(0, 8), "2 layers") << "one rank has it all";
  }
}

TEST(WholeModels, SomeMayBeCutBetweenLayersOnly) {
  const auto nothing = [](auto&) {};
  const std::string by_layers = "1 layers, 4 heads, 64 of 0 hidden, 0 tokens";
  EXPECT_EQ(Shared(nothing, {.pipeline = 2}), by_layers);
  EXPECT_EQ(Shared(nothing, {.tensor = 2}), "2 layers, 2 heads, 32 of 64 hidden, 10 tokens");
  EXPECT_EQ(Shared(nothing, {.tensor = 2, .pipeline = 2}),
            "2 ranks by tensor and 2 by pipeline parallelism: set one of them to 1, they are not combined");
  const Change whole_norms = [](auto& c) { c.qk_norm = QkNorm::kWhole; };
  EXPECT_EQ(Shared(whole_norms, {.tensor = 2}), "its norms of queries and keys are over all heads");
  EXPECT_EQ(Shared(whole_norms, {.pipeline = 2}), by_layers);
  EXPECT_EQ(Shared([](auto& c) { c.qk_norm = QkNorm::kHead; }, {.tensor = 2}).substr(0, 8), "2 layers");
  EXPECT_EQ(Shared(nothing, {.tensor = 2}, {{"blk.0.attn_qkv.weight"}}),
            "a tensor of its file stacks queries, keys and values");
  EXPECT_EQ(Shared(nothing, {.pipeline = 2}, {{"blk.0.attn_qkv.weight"}}), by_layers);
  const Change gated = [](auto& c) { c.gated = true; };
  EXPECT_EQ(Shared(gated, {.tensor = 2}), "a tensor of its file stacks gate and up");
  EXPECT_EQ(Shared(gated, {.tensor = 2}, {{"blk.0.ffn_gate.weight"}}).substr(0, 8), "2 layers");
  const auto widths = [](int32_t width) {
    return Shared([=](auto& c) { c.layer_kinds[1].feed_forward_width = width; }, {.tensor = 2});
  };
  EXPECT_EQ(widths(63), "its feed-forward networks have several widths");
  EXPECT_EQ(widths(64).substr(0, 8), "2 layers");
}

TEST(WholeModels, HiddenValuesAreCutBetweenTheLargestBlocks) {
  const auto hidden = [](int32_t width, int32_t ranks, formats::TensorType first, formats::TensorType second) {
    return Shared(
        [=](auto& c) {
          c.feed_forward = width;
          c.heads = c.layer_kinds[0].kv.heads = c.layer_kinds[1].kv.heads = ranks;
        },
        {.tensor = ranks}, {{"blk.0.ffn_down.weight", first}, {"blk.1.ffn_down.weight", second}});
  };
  using T = formats::TensorType;
  EXPECT_EQ(hidden(96, 2, T::kF32, T::kQ4_0), "2 layers, 1 heads, 32 of 96 hidden, 10 tokens");
  EXPECT_EQ(hidden(96, 2, T::kQ8_0, T::kF32), "2 layers, 1 heads, 32 of 96 hidden, 10 tokens");
  EXPECT_EQ(hidden(96, 2, T::kF32, T::kF32), "2 layers, 1 heads, 48 of 96 hidden, 10 tokens");
  EXPECT_EQ(hidden(64, 2, T::kF32, T::kQ4_0), "2 layers, 1 heads, 32 of 64 hidden, 10 tokens");
  EXPECT_EQ(hidden(64, 3, T::kF32, T::kQ4_0),
            "file: 3 ranks cannot share 2 blocks of 32 hidden values of 'x' evenly; choose a number of ranks that "
            "divides them");
  EXPECT_EQ(hidden(256, 2, T::kQ4_0, T::kQ4_K),
            "file: 2 ranks cannot share 1 blocks of 256 hidden values of 'x' evenly; choose a number of ranks that "
            "divides them");
}

TEST(WholeModels, StagesKnowWhereTheyAre) {
  const auto stages = [](int32_t rank, int32_t pipeline) {
    const Shard shard{.rank = rank, .parallelism = {.pipeline = pipeline}};
    return fmt::format("{}{}", shard.first_stage() ? "first " : "", shard.last_stage() ? "last" : "");
  };
  EXPECT_EQ(stages(0, 1), "first last");
  EXPECT_EQ(stages(0, 3), "first ");
  EXPECT_EQ(stages(1, 3), "");
  EXPECT_EQ(stages(2, 3), "last");
}

}  // namespace
}  // namespace inferflux::model
