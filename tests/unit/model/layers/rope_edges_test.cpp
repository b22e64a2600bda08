// Rotary embeddings at the edges of their numbers, and positions of windowed layers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"
#include "model/families/common.h"
#include "model/families/rope_scaling.h"

namespace inferflux::model {
namespace {

using RopeKeys = std::function<void(formats::GgufMetadataBuilder&)>;

ModelSource RopeSource(const RopeKeys& keys, std::vector<ModelSource::Tensor> tensors = {}) {
  formats::GgufMetadataBuilder metadata;
  metadata.Set("general.architecture", "x");
  keys(metadata);
  return ModelSource("file", "gguf", metadata.Build("file"), std::move(tensors), nullptr);
}

ModelConfig HeadsOf(int32_t dims) {
  ModelConfig config;
  config.architecture = "x";
  config.head_dim = dims;
  config.context = 1000;
  return config;
}

std::string RopeOf(const RopeKeys& keys, int32_t dims = 8, int32_t context = 1000,
                   std::vector<ModelSource::Tensor> tensors = {}, const RopeRules& rules = {}) {
  const auto rope = ReadRope(RopeSource(keys, std::move(tensors)), HeadsOf(dims), context, rules);
  if (!rope) return rope.error().message;
  std::string out = fmt::format("{:.4g}:", rope->magnitude);
  for (const float frequency : rope->inverse_frequencies) out += fmt::format(" {:.4g}", frequency);
  return out;
}

std::string RampOf(double first, double last, double factor = 4) {
  std::string out = fmt::format("{:.4g}:", 0.1 * std::log(factor) + 1);
  for (int i = 0; i < 4; ++i) {
    const double kept = 1 - std::clamp((i - first) / (last - first), 0.0, 1.0);
    out += fmt::format(" {:.4g}", std::pow(10000, -i / 4.0) * (kept + (1 - kept) / factor));
  }
  return out;
}

RopeKeys YarnOf(uint32_t original, float fast = 32.0f, float slow = 1.0f) {
  return [=](auto& m) {
    m.Set("x.rope.scaling.type", "yarn");
    m.template Set<float>("x.rope.scaling.factor", 4);
    m.template Set<uint32_t>("x.rope.scaling.original_context_length", original);
    m.template Set<float>("x.rope.scaling.yarn_beta_fast", fast);
    m.template Set<float>("x.rope.scaling.yarn_beta_slow", slow);
  };
}

TEST(RopeEdges, YarnsRampStaysInsideTheHead) {
  EXPECT_EQ(RopeOf(YarnOf(1)), RampOf(0, 0.001)) << "both ends before the first pair";
  EXPECT_EQ(RopeOf(YarnOf(1u << 30, 1e6f)), RampOf(2, 7)) << "the last end is one below the dimensions";
  EXPECT_EQ(RopeOf(YarnOf(500), 8, 1000, {}, {.round_yarn_ramp = false}),
            RampOf(8 * std::log(500 / (64 * std::numbers::pi)) / (2 * std::log(10000.0)),
                   8 * std::log(500 / (2 * std::numbers::pi)) / (2 * std::log(10000.0))));
  EXPECT_EQ(RopeOf(YarnOf(1000)), RopeOf([](auto& m) {
              m.Set("x.rope.scaling.type", "yarn");
              m.template Set<float>("x.rope.scaling.factor", 4);
            }))
      << "the trained context, 32 and 1";
}

TEST(RopeEdges, DynamicScalingNeedsMoreThanOnePair) {
  const RopeKeys dynamic = [](auto& m) { m.template Set<float>("x.rope.scaling.dynamic_factor", 2); };
  EXPECT_EQ(RopeOf(dynamic, 2, 5000), "1: 1");
  EXPECT_NE(RopeOf(dynamic, 4, 5000), RopeOf([](auto&) {}, 4, 5000));
  const RopeKeys one = [](auto& m) { m.template Set<float>("x.rope.scaling.dynamic_factor", 1); };
  EXPECT_EQ(RopeOf(one, 4, 5000), RopeOf([](auto&) {}, 4, 5000));
}

TEST(RopeEdges, NumbersHaveBounds) {
  const auto set = [](const char* key, float value) {
    return RopeOf([=](auto& m) { m.template Set<float>(key, value); });
  };
  EXPECT_EQ(set("x.rope.freq_base", 1.0f), "file: x.rope.freq_base is 1, which is not between 1.001 and 1000000000");
  EXPECT_EQ(set("x.rope.freq_base", 1.001f).substr(0, 4), "1: 1");
  EXPECT_EQ(set("x.rope.freq_base", 1e9f).substr(0, 4), "1: 1");
  EXPECT_EQ(set("x.rope.freq_base", 1.1e9f),
            "file: x.rope.freq_base is 1100000000, which is not between 1.001 and 1000000000");
  EXPECT_EQ(set("x.rope.scaling.attn_factor", 0.0f),
            "file: x.rope.scaling.attn_factor is 0, which is not between 1e-06 and 1000000000");
  EXPECT_EQ(set("x.rope.scaling.dynamic_factor", 0.0f),
            "file: x.rope.scaling.dynamic_factor is 0, which is not between 1e-06 and 1000000000");
  EXPECT_EQ(RopeOf([](auto& m) {
              YarnOf(500)(m);
              m.template Set<float>("x.rope.scaling.yarn_ext_factor", 0);
            }),
            fmt::format("{:.4g}: 0.25 0.025 0.0025 0.00025", 0.1 * std::log(4.0) + 1))
      << "no share is kept";
  EXPECT_EQ(RopeOf([](auto& m) { m.template Set<uint32_t>("x.rope.dimension_count", 2); }), "1: 1");
  const auto owner =
      std::make_shared<std::vector<float>>(std::vector<float>{1, std::numeric_limits<float>::infinity(), 1, 1});
  const ModelSource::Tensor endless{
      .matrix = {
          .name = "rope_freqs.weight", .rows = 1, .cols = 4, .data = std::as_bytes(std::span(*owner)), .owner = owner}};
  EXPECT_EQ(RopeOf([](auto&) {}, 8, 1000, {endless}), "file: rope_freqs.weight[1] is inf; it must be positive");
}

TEST(RopeEdges, ASwitchNeedsALengthAndAReason) {
  const auto at = [](const RopeKeys& keys, bool long_factors) {
    std::vector<ModelSource::Tensor> tensors;
    if (long_factors) tensors.push_back({.matrix = {.name = "rope_factors_long.weight", .rows = 1, .cols = 1}});
    const auto length = RopeSwitch(RopeSource(keys, std::move(tensors)));
    return !length ? length.error().message : *length ? std::to_string(**length) : "never";
  };
  const auto dynamic = [](float factor, bool length) {
    return [=](formats::GgufMetadataBuilder& m) {
      m.Set<float>("x.rope.scaling.dynamic_factor", factor);
      if (length) m.Set<uint32_t>("x.context_length", 1000);
    };
  };
  EXPECT_EQ(at(dynamic(2, true), false), "1000");
  EXPECT_EQ(at(dynamic(2, false), false), "never");
  EXPECT_EQ(at(dynamic(1, true), false), "never");
  EXPECT_EQ(at(dynamic(1, true), true), "1000");
  EXPECT_EQ(at(dynamic(1, false), true), "never");
  EXPECT_EQ(at([](auto& m) { m.template Set<uint32_t>("x.rope.scaling.original_context_length", 5); }, true), "5");
  EXPECT_EQ(at(
                [](auto& m) {
                  m.template Set<uint32_t>("x.context_length", 1000);
                  m.template Set<uint32_t>("x.rope.scaling.original_context_length", 5);
                },
                false),
            "never");
}

std::string WindowRopes(const RopeKeys& keys, int32_t period, int32_t window_of_last = 0) {
  ModelConfig config = HeadsOf(4);
  config.layers = 4;
  config.layer_kinds = std::vector<LayerKind>(4);
  config.layer_kinds[3].kv.window = window_of_last;
  config.ropes.emplace_back();
  const auto read = ReadWindowRope(RopeSource(keys), 256.0f, period, &config);
  if (!read) return read.error().message;
  std::string out = fmt::format("{:.4g}:", config.ropes.back().inverse_frequencies[1]);
  for (const LayerKind& kind : config.layer_kinds) out += fmt::format(" {}", kind.rope);
  return out;
}

TEST(RopeEdges, LayersWithAWindowHaveTheirOwnRotation) {
  const auto keys = [](int64_t window, std::vector<int> listed = {}) {
    return [=](formats::GgufMetadataBuilder& m) {
      m.Set("x.attention.sliding_window", window);
      if (listed.empty()) return;
      const auto flags = std::make_unique<bool[]>(listed.size());
      std::copy(listed.begin(), listed.end(), flags.get());
      m.SetArray("x.attention.sliding_window_pattern", std::span<const bool>(flags.get(), listed.size()));
    };
  };
  EXPECT_EQ(WindowRopes([](auto&) {}, 2), "0.0625: 0 0 0 0");
  EXPECT_EQ(WindowRopes([](auto&) {}, 2, 7), "0.0625: 0 0 0 1") << "a window is enough";
  EXPECT_EQ(WindowRopes(keys(7), 2), "0.0625: 1 0 1 0");
  EXPECT_EQ(WindowRopes(keys(7), 3), "0.0625: 1 1 0 1");
  EXPECT_EQ(WindowRopes(keys(7), 0), "0.0625: 0 0 0 0");
  EXPECT_EQ(WindowRopes(keys(1), 1), "0.0625: 0 0 0 0") << "each layer is the last of its period";
  EXPECT_EQ(WindowRopes(keys(0, {1, 0, 1, 0}), 0), "0.0625: 0 0 0 0");
  EXPECT_EQ(WindowRopes(keys(7, {0, 1, 1, 0}), 0), "0.0625: 0 1 1 0");
  EXPECT_EQ(WindowRopes(keys(7, {0, 1, 1}), 0), "file: x.attention.sliding_window_pattern has 3 entries for 4 layers");
  EXPECT_EQ(WindowRopes([](auto& m) { m.template Set<float>("x.rope.freq_base_swa", 16); }, 0), "0.25: 0 0 0 0");
  EXPECT_EQ(WindowRopes([](auto& m) { m.template Set<float>("x.rope.freq_base_swa", 1); }, 0),
            "file: x.rope.freq_base_swa is 1, which is not between 1.001 and 1000000000");
}

TEST(RopeEdges, SomeModelsRotateInLayersWithAWindowOnly) {
  const auto ropes = [](const RopeKeys& keys, int32_t period) {
    ModelConfig config = HeadsOf(4);
    config.layers = 4;
    config.layer_kinds = std::vector<LayerKind>(4);
    const auto read = RotateWindowedLayersOnly(RopeSource(keys), period, &config);
    if (!read) return read.error().message;
    std::string out;
    for (const LayerKind& kind : config.layer_kinds) out += fmt::format("{} ", kind.rope);
    return out;
  };
  EXPECT_EQ(ropes([](auto&) {}, 0), "0 0 0 0 ");
  EXPECT_EQ(ropes([](auto&) {}, 4), "0 0 0 -1 ");
  EXPECT_EQ(ropes([](auto& m) { m.template Set<uint32_t>("x.attention.sliding_window_pattern", 2); }, 4), "0 -1 0 -1 ");
}

}  // namespace
}  // namespace inferflux::model
