// Pooling and heads as files of embedding and ranking models say them, and what is refused, word for word.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"
#include "model/families/read_head.h"
#include "model/families/read_pooling.h"

namespace inferflux::model {
namespace {

using Fill = std::function<void(formats::GgufMetadataBuilder&)>;

struct HeadTensor {
  const char* name;
  int64_t rows, cols;
};

std::string Read(const Fill& fill, const std::vector<HeadTensor>& shapes = {}, bool causal = false) {
  formats::GgufMetadataBuilder metadata;
  fill(metadata);
  std::vector<ModelSource::Tensor> tensors;
  for (const HeadTensor& each : shapes)
    tensors.push_back({.matrix = {.name = each.name, .rows = each.rows, .cols = each.cols}});
  const ModelSource source("file", "gguf", metadata.Build("file"), std::move(tensors), nullptr);
  ModelConfig config;
  config.architecture = "a";
  config.hidden = 8;
  config.causal = causal;
  if (auto read = ReadPooling(source, &config); !read) return read.error().message;
  const PoolingConfig& pooling = config.pooling;
  std::string out = fmt::format("{}{} [{}]", pooling.type ? static_cast<int>(*pooling.type) : -1,
                                pooling.normalise ? " normal" : "", fmt::join(pooling.lengths, " "));
  for (const HeadLayer& layer : config.head) {
    out += fmt::format(" {}:{}>{}/{}{}", layer.tensor, layer.inputs, layer.outputs, static_cast<int>(layer.activation),
                       layer.norm.empty() ? "" : "+" + layer.norm);
  }
  if (pooling.scores())
    out += fmt::format(" {} {}", fmt::join(pooling.labels, ","), static_cast<int>(pooling.score_function));
  return out;
}

Fill Kind(
    int32_t type, const Fill& more = [](auto&) {}) {
  return [=](formats::GgufMetadataBuilder& m) {
    m.Set("a.pooling_type", type);
    more(m);
  };
}
Fill Text(const char* key, const char* value) {
  return [=](formats::GgufMetadataBuilder& m) { m.Set(key, value); };
}

TEST(PoolingOfFiles, IsWhatTheFileSaysOrTheModelsKindDoes) {
  const auto nothing = [](auto&) {};
  EXPECT_EQ(Read(nothing), "0 normal []");
  EXPECT_EQ(Read(nothing, {}, true), "2 normal []");
  EXPECT_EQ(Read(Kind(0), {}, true), "2 normal []");
  EXPECT_EQ(Read(Kind(1), {}, true), "0 normal []");
  EXPECT_EQ(Read(Kind(2)), "1 normal []");
  EXPECT_EQ(Read(Kind(3)), "2 normal []");
  EXPECT_EQ(Read(Kind(1, [](auto& m) { m.Set("a.pooling_normalize", false); })), "0 []");
  for (const int32_t type : {-1, 5}) {
    EXPECT_EQ(
        Read(Kind(type)),
        fmt::format("file: a.pooling_type is {}; known are 1 (mean), 2 (first token), 3 (last token) and 4 (rank)",
                    type));
  }
  const auto lengths = [](std::vector<int32_t> values) {
    return Read([=](auto& m) { m.SetArray("a.matryoshka_dimensions", std::span<const int32_t>(values)); });
  };
  EXPECT_EQ(lengths({8, 1, 4}), "0 normal [1 4 8]");
  EXPECT_EQ(lengths({4, 9}), "file: a.matryoshka_dimensions has 9, which is not between 1 and 8");
  EXPECT_EQ(lengths({0}), "file: a.matryoshka_dimensions has 0, which is not between 1 and 8");
}

TEST(PoolingOfFiles, EmbeddingsMayPassThroughLayers) {
  EXPECT_EQ(Read([](auto&) {}, {{"dense_2.weight", 6, 8}}), "0 normal [] dense_2:8>6/0");
  EXPECT_EQ(Read([](auto&) {}, {{"dense_3.weight", 6, 8}}), "0 normal [] dense_3:8>6/0");
  EXPECT_EQ(Read([](auto& m) { m.Set("inferflux.activation.dense_3", "tanh"); },
                 {{"dense_2.weight", 6, 8}, {"dense_3.weight", 5, 6}}),
            "0 normal [] dense_2:8>6/0 dense_3:6>5/1");
  const std::string tail = "; a head's layer has {} inputs and at most 16777216 outputs";
  EXPECT_EQ(Read([](auto&) {}, {{"dense_2.weight", 6, 7}}),
            "file: tensor 'dense_2.weight' is [6, 7]" + fmt::format(fmt::runtime(tail), 8));
  EXPECT_EQ(Read([](auto&) {}, {{"dense_2.weight", 6, 8}, {"dense_3.weight", 5, 8}}),
            "file: tensor 'dense_3.weight' is [5, 8]" + fmt::format(fmt::runtime(tail), 6));
  EXPECT_EQ(Read([](auto&) {}, {{"dense_2.weight", 0, 8}}),
            "file: tensor 'dense_2.weight' is [0, 8]" + fmt::format(fmt::runtime(tail), 8));
  EXPECT_EQ(Read([](auto&) {}, {{"dense_2.weight", 1, 8}}), "0 normal [] dense_2:8>1/0");
  EXPECT_EQ(Read([](auto&) {}, {{"dense_2.weight", 1 << 24, 8}}), "0 normal [] dense_2:8>16777216/0");
  EXPECT_EQ(Read([](auto&) {}, {{"dense_2.weight", (1 << 24) + 1, 8}}),
            "file: tensor 'dense_2.weight' is [16777217, 8]" + fmt::format(fmt::runtime(tail), 8));
}

TEST(PoolingOfFiles, RankingModelsHaveLabelsAndAFunction) {
  const std::vector<HeadTensor> one{{"cls.output.weight", 1, 8}}, three{{"cls.output.weight", 3, 8}};
  EXPECT_EQ(Read(Kind(4), one), "1 [] cls.output:8>1/0 LABEL_0 1");
  EXPECT_EQ(Read(Kind(4), three), "1 [] cls.output:8>3/0 LABEL_0,LABEL_1,LABEL_2 2");
  EXPECT_EQ(Read(Kind(4), one, true), "2 [] cls.output:8>1/0 LABEL_0 1");
  EXPECT_EQ(Read(Kind(4), {{"cls.weight", 6, 8}, {"cls.output.weight", 1, 6}}),
            "1 [] cls:8>6/1 cls.output:6>1/0 LABEL_0 1");
  EXPECT_EQ(Read(Kind(4), {{"cls.weight", 6, 8}, {"cls.norm.weight", 1, 6}, {"cls.output.weight", 1, 6}}),
            "1 [] cls:8>6/1+cls.norm cls.output:6>1/0 LABEL_0 1");
  const std::pair<const char*, int> activations[] = {{"none", 0}, {"tanh", 1}, {"relu", 2}, {"gelu", 3}, {"silu", 4}};
  for (const auto& [word, number] : activations) {
    EXPECT_EQ(Read(Kind(4, Text("inferflux.classifier.activation", word)),
                   {{"cls.weight", 6, 8}, {"cls.output.weight", 1, 6}}),
              fmt::format("1 [] cls:8>6/{} cls.output:6>1/0 LABEL_0 1", number));
  }
  const std::pair<const char*, int> functions[] = {{"none", 0}, {"sigmoid", 1}, {"softmax", 2}};
  for (const auto& [word, number] : functions) {
    EXPECT_EQ(Read(Kind(4, Text("inferflux.classifier.score_function", word)), one),
              fmt::format("1 [] cls.output:8>1/0 LABEL_0 {}", number));
  }
  const std::pair<const char*, int> poolings[] = {{"mean", 0}, {"cls", 1}, {"last", 2}};
  for (const auto& [word, number] : poolings) {
    EXPECT_EQ(Read(Kind(4, Text("inferflux.classifier.pooling", word)), one),
              fmt::format("{} [] cls.output:8>1/0 LABEL_0 1", number));
  }
  const auto labels = [](std::vector<std::string> names) {
    return Kind(4, [=](auto& m) { m.SetArray("a.classifier.output_labels", std::span<const std::string>(names)); });
  };
  EXPECT_EQ(Read(labels({"x", "y", "z"}), three), "1 [] cls.output:8>3/0 x,y,z 2");
  EXPECT_EQ(Read(labels({}), one), "1 [] cls.output:8>1/0 LABEL_0 1");
}

TEST(PoolingOfFiles, WhatARankingModelLacksIsNamed) {
  const std::vector<HeadTensor> one{{"cls.output.weight", 1, 8}};
  EXPECT_EQ(Read(Kind(4)),
            "file: it ranks texts (a.pooling_type is 4), but has no head for that: tensor 'cls.output.weight' is "
            "missing; convert the model again with a current converter");
  EXPECT_EQ(Read(Kind(4, Text("inferflux.classifier.score_function", "max")), one),
            "file: inferflux.classifier.score_function is 'max'; supported are none, sigmoid, softmax");
  EXPECT_EQ(Read(Kind(4, Text("inferflux.classifier.pooling", "max")), one),
            "file: inferflux.classifier.pooling is 'max'; supported are mean, cls, last");
  EXPECT_EQ(Read(Kind(4, Text("inferflux.classifier.activation", "elu")),
                 {{"cls.weight", 6, 8}, {"cls.output.weight", 1, 6}}),
            "file: inferflux.classifier.activation is 'elu'; supported are tanh, relu, gelu, silu, none");
  EXPECT_EQ(Read(Kind(4,
                      [](auto& m) {
                        const std::vector<std::string> names{"x", "y"};
                        m.SetArray("a.classifier.output_labels", std::span<const std::string>(names));
                      }),
                 one),
            "file: a.classifier.output_labels has 2 names for 1 scores");
}

}  // namespace
}  // namespace inferflux::model
