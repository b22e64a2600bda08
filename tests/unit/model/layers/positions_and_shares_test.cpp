// Rotary embeddings, biases by distance and the shares of ranks, in numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "formats/gguf/gguf_metadata_builder.h"
#include "model/families/rope_scaling.h"
#include "model/layers/distance_biases.h"
#include "model/shard.h"

namespace inferflux::model {
namespace {

using Settings = std::function<void(formats::GgufMetadataBuilder&)>;
using Factors = std::vector<std::pair<const char*, std::vector<float>>>;

ModelSource SourceOf(const Settings& settings, const Factors& factors = {}) {
  formats::GgufMetadataBuilder metadata;
  metadata.Set("general.architecture", "llama");
  settings(metadata);
  std::vector<ModelSource::Tensor> tensors;
  for (const auto& [name, values] : factors) {
    const auto owner = std::make_shared<std::vector<float>>(values);
    tensors.push_back({.matrix = {.name = name,
                                  .rows = 1,
                                  .cols = static_cast<int64_t>(values.size()),
                                  .data = std::as_bytes(std::span(*owner)),
                                  .owner = owner}});
  }
  return ModelSource("file", "gguf", metadata.Build("file"), std::move(tensors), nullptr);
}

// A model of 8 dimensions that was trained for 1,000 tokens.
const ModelConfig kConfig = [] {
  ModelConfig config;
  config.architecture = "llama";
  config.head_dim = 8;
  config.context = 1000;
  return config;
}();

std::string Rope(const Settings& settings, const Factors& factors = {}, int32_t context = 1000) {
  const auto rope = ReadRope(SourceOf(settings, factors), kConfig, context);
  if (!rope) return rope.error().message;
  std::string out = fmt::format("{:.4g}:", rope->magnitude);
  for (const float frequency : rope->inverse_frequencies) out += fmt::format(" {:.4g}", frequency);
  return out;
}

TEST(Rope, FrequenciesFallWithThePair) {
  EXPECT_EQ(Rope([](auto&) {}), "1: 1 0.1 0.01 0.001");
  EXPECT_EQ(Rope([](auto& m) { m.template Set<float>("llama.rope.freq_base", 256); }), "1: 1 0.25 0.0625 0.01562");
  EXPECT_EQ(Rope([](auto& m) { m.template Set<uint32_t>("llama.rope.dimension_count", 4); }), "1: 1 0.01");
  EXPECT_EQ(Rope([](auto& m) { m.template Set<float>("llama.rope.scaling.attn_factor", 1.5); }),
            "1.5: 1 0.1 0.01 0.001");
  for (const uint32_t dims : {0u, 1u, 3u, 10u}) {
    EXPECT_EQ(Rope([&](auto& m) { m.template Set<uint32_t>("llama.rope.dimension_count", dims); }),
              fmt::format("file: llama.rope.dimension_count is {}; it must be even and at most the head's 8", dims));
  }
  const auto unscaled = ReadUnscaledRope(SourceOf([](auto&) {}), kConfig, 16.0f);
  ASSERT_TRUE(unscaled);
  EXPECT_FLOAT_EQ(unscaled->inverse_frequencies[1], 0.5f);
}

TEST(Rope, EachScalingChangesTheFrequencies) {
  const auto scaled = [](const char* type, const Factors& factors = {}, int32_t context = 1000) {
    return Rope(
        [type](auto& m) {
          m.Set("llama.rope.scaling.type", type);
          m.template Set<float>("llama.rope.scaling.factor", 4);
          m.template Set<uint32_t>("llama.rope.scaling.original_context_length", 500);
        },
        factors, context);
  };
  EXPECT_EQ(scaled("none"), "1: 1 0.1 0.01 0.001");
  EXPECT_EQ(scaled("linear"), "1: 0.25 0.025 0.0025 0.00025");
  EXPECT_NE(scaled("other").find("RoPE scaling 'other' is not supported"), std::string::npos);
  const Factors both = {{"rope_factors_long.weight", {1, 2, 4, 5}}, {"rope_factors_short.weight", {2, 2, 2, 2}}};
  EXPECT_EQ(scaled("longrope", both, 500), "1: 0.5 0.05 0.005 0.0005");
  EXPECT_EQ(scaled("longrope", both, 501), "1: 1 0.05 0.0025 0.0002");
  EXPECT_EQ(scaled("none", both, 501), "1: 1 0.05 0.0025 0.0002") << "the tensors say it too";
  EXPECT_EQ(scaled("none", {{"rope_freqs.weight", {1, 1, 2, 8}}}), "1: 1 0.1 0.005 0.000125");
  EXPECT_EQ(scaled("none", {{"rope_freqs.weight", {1, 1, 0, 8}}}),
            "file: rope_freqs.weight[2] is 0; it must be positive");
}

TEST(Rope, DynamicScalingBeginsBehindTheTrainedContext) {
  const auto at = [](int32_t context) {
    return Rope([](auto& m) { m.template Set<float>("llama.rope.scaling.dynamic_factor", 2); }, {}, context);
  };
  EXPECT_EQ(at(1000), "1: 1 0.1 0.01 0.001");
  // The base is 10000 * (2 * 2 - 1)^(8/6).
  const double base = 10000 * std::pow(3.0, 8.0 / 6);
  EXPECT_EQ(at(2000), fmt::format("1: 1 {:.4g} {:.4g} {:.4g}", std::pow(base, -0.25), std::pow(base, -0.5),
                                  std::pow(base, -0.75)));
}

// By the formulas of YaRN's paper, appendix A.
TEST(Rope, YarnHasARampBetweenFastAndSlowPairs) {
  const auto yarn = [](const Settings& more, double first, double last, double share, double factor = 4) {
    const std::string said = Rope([&](auto& m) {
      m.Set("llama.rope.scaling.type", "yarn");
      m.template Set<float>("llama.rope.scaling.factor", static_cast<float>(factor));
      m.template Set<uint32_t>("llama.rope.scaling.original_context_length", 500);
      more(m);
    });
    std::string wanted;
    for (int i = 0; i < 4; ++i) {
      const double kept = (1 - std::clamp((i - first) / (last - first), 0.0, 1.0)) * share;
      wanted += fmt::format(" {:.4g}", std::pow(10000, -i / 4.0) * (kept + (1 - kept) / factor));
    }
    EXPECT_EQ(said.substr(said.find(':') + 1), wanted);
    return said.substr(0, said.find(':'));
  };
  const auto pair_of = [](double rotations) {
    return 8 * std::log(500 / (rotations * 2 * std::numbers::pi)) / (2 * std::log(10000.0));
  };
  const std::string usual = fmt::format("{:.4g}", 0.1 * std::log(4.0) + 1);
  EXPECT_EQ(yarn([](auto&) {}, std::floor(pair_of(32)), std::ceil(pair_of(1)), 1), usual);
  EXPECT_EQ(yarn([](auto& m) { m.Set(kYarnTruncateKey, false); }, pair_of(32), pair_of(1), 1), usual);
  EXPECT_EQ(yarn(
                [](auto& m) {
                  m.Set(kYarnTruncateKey, false);
                  m.template Set<float>("llama.rope.scaling.yarn_beta_fast", 8);
                  m.template Set<float>("llama.rope.scaling.yarn_beta_slow", 2);
                },
                pair_of(8), pair_of(2), 1),
            usual);
  EXPECT_EQ(yarn([](auto& m) { m.template Set<float>("llama.rope.scaling.yarn_ext_factor", 0.5); }, 0, 2, 0.5), usual);
  EXPECT_EQ(yarn([](auto& m) { m.template Set<float>("llama.rope.scaling.yarn_attn_factor", 3); }, 0, 2, 1), "3");
  EXPECT_EQ(yarn([](auto& m) { m.template Set<float>("llama.rope.scaling.yarn_log_multiplier", 0.1f); }, 0, 2, 1), "1");
  EXPECT_EQ(yarn([](auto&) {}, 0, 2, 1, 1), "1") << "a factor of 1 is no scaling";
}

TEST(Rope, SwitchesAtOneLength) {
  const auto at = [](const Settings& settings, const Factors& factors = {}) {
    const auto length = RopeSwitch(SourceOf(settings, factors));
    return !length ? length.error().message : *length ? std::to_string(**length) : "never";
  };
  const auto trained = [](auto& m) { m.template Set<uint32_t>("llama.context_length", 1000); };
  const Factors longrope = {{"rope_factors_long.weight", {1}}};
  EXPECT_EQ(at([](auto&) {}), "never");
  EXPECT_EQ(at(trained), "never");
  EXPECT_EQ(at(trained, longrope), "1000");
  EXPECT_EQ(at(
                [&](auto& m) {
                  trained(m);
                  m.template Set<uint32_t>("llama.rope.scaling.original_context_length", 500);
                },
                longrope),
            "500");
  EXPECT_EQ(at([&](auto& m) {
              trained(m);
              m.template Set<float>("llama.rope.scaling.dynamic_factor", 2);
            }),
            "1000");
}

TEST(DistanceBiases, HaveExactBucketsNearbyAndWiderOnesFarAway) {
  const std::vector<std::pair<int, int>> buckets = {{0, 0},   {1, 17},  {-1, 1},    {7, 23},    {8, 24},  {-8, 8},
                                                    {11, 24}, {12, 25}, {15, 25},   {16, 26},   {22, 26}, {23, 27},
                                                    {31, 27}, {32, 28}, {45, 28},   {46, 29},   {63, 29}, {64, 30},
                                                    {90, 30}, {91, 31}, {1000, 31}, {-1000, 15}};
  for (const auto& [distance, bucket] : buckets) EXPECT_EQ(DistanceBucket(distance), bucket) << distance;
  std::vector<float> values(64);
  for (size_t i = 0; i < 64; ++i) values[i] = static_cast<float>(i);
  EXPECT_EQ(SpreadBuckets(values, 2, 3), (std::vector<float>{4, 2, 0, 34, 36, 5, 3, 1, 35, 37}));
}

std::string Share(int64_t of, int64_t unit, int32_t rank, int32_t ranks) {
  const Run run = ShareOf(of, unit, rank, ranks);
  return fmt::format("{}+{} of {}", run.first, run.count, run.of);
}

TEST(Shares, AreWholeUnitsAndTheLastRankHasTheRest) {
  EXPECT_EQ(Share(10, 1, 0, 1), "0+10 of 0");
  EXPECT_EQ(Share(10, 1, 0, 3), "0+3 of 10");
  EXPECT_EQ(Share(10, 1, 1, 3), "3+3 of 10");
  EXPECT_EQ(Share(10, 1, 2, 3), "6+4 of 10");
  EXPECT_EQ(Share(50, 16, 0, 2), "0+16 of 50");
  EXPECT_EQ(Share(50, 16, 1, 2), "16+34 of 50");
  const Shard shard{.rank = 1, .parallelism = {.tensor = 3}, .vocab_size = 10};
  EXPECT_EQ(shard.VocabularyCounts(), (std::vector<int64_t>{3, 3, 4}));
  EXPECT_EQ(shard.Heads(4).first, 4);
  EXPECT_EQ(shard.Heads(4).of, 12);
  EXPECT_TRUE(Shard{.vocab_size = 10}.VocabularyCounts().empty());
}

TEST(Shares, OfLayersAndOfHeadsAreTheRanksOwn) {
  ModelConfig config = kConfig;
  config.layers = 5;
  config.heads = 8;
  config.feed_forward = 30;
  config.vocab_size = 100;
  config.gated = false;
  for (int i = 0; i < 5; ++i) config.layer_kinds.push_back({.kv = {4, 8 + i}, .feed_forward = true});
  const ModelSource source = SourceOf([](auto&) {});
  const auto shard = [&](Parallelism parallelism, int32_t rank) {
    const auto made = ShardConfig(config, source, parallelism, rank);
    if (!made) return made.error().message;
    std::string out =
        fmt::format("{} layers from {}, {} heads, {} hidden from {}, KV", made->config.layers, made->shard.first_layer,
                    made->config.heads, made->config.feed_forward, made->shard.feed_forward.first);
    for (const LayerKind& kind : made->config.layer_kinds)
      out += fmt::format(" {}x{}", kind.kv.heads, kind.kv.head_dim);
    return out;
  };
  EXPECT_EQ(shard({.pipeline = 2}, 0), "2 layers from 0, 8 heads, 30 hidden from 0, KV 4x8 4x9");
  EXPECT_EQ(shard({.pipeline = 2}, 1), "3 layers from 2, 8 heads, 30 hidden from 0, KV 4x10 4x11 4x12");
  EXPECT_EQ(shard({.pipeline = 5}, 4), "1 layers from 4, 8 heads, 30 hidden from 0, KV 4x12");
  EXPECT_EQ(shard({.pipeline = 6}, 0), "file: 6 ranks cannot share 5 layers of 'llama'");
  EXPECT_EQ(shard({.tensor = 4}, 3), "5 layers from 0, 2 heads, 8 hidden from 22, KV 1x8 1x9 1x10 1x11 1x12");
  const std::string evenly = " of 'llama' evenly; choose a number of ranks that divides them";
  EXPECT_EQ(shard({.tensor = 3}, 0), "file: 3 ranks cannot share 8 attention heads" + evenly);
  config.heads = 12;
  EXPECT_EQ(shard({.tensor = 3}, 0), "file: 3 ranks cannot share 4 KV heads" + evenly);
  config.heads = 8;
  config.feed_forward = 4;
  EXPECT_NE(shard({.tensor = 4}, 0).find("1 hidden from 0"), std::string::npos);
  config.feed_forward = 3;
  EXPECT_EQ(shard({.tensor = 4}, 0), "file: 4 ranks cannot share 3 blocks of 1 hidden values" + evenly);
  config.feed_forward = 30;
  config.vocab_size = 4;
  EXPECT_NE(shard({.tensor = 4}, 0).find("2 heads"), std::string::npos);
  config.vocab_size = 3;
  EXPECT_EQ(shard({.tensor = 4}, 0), "file: 4 ranks cannot share 3 tokens" + evenly);
  config.layer_kinds[3].feed_forward_width = 9;
  EXPECT_NE(shard({.tensor = 2}, 0).find("its feed-forward networks have several widths"), std::string::npos);
  config.layer_kinds[3].kv.heads = 0;
  EXPECT_NE(shard({.pipeline = 2}, 0).find("some of its layers lack attention or a feed-forward network"),
            std::string::npos);
}

}  // namespace
}  // namespace inferflux::model
