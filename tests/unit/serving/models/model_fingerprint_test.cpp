// The hash by which sessions know their model, and how far a load has come.
#include "serving/models/model_fingerprint.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/loading/model_source.h"
#include "serving/models/load_progress.h"

namespace inferflux::serving {
namespace {

using compute::HostMatrix;

// A model of tensors of one row.
struct TensorsInMemory {
  void Add(const std::string& name, size_t bytes) {
    std::vector<std::byte>& data = values[name];
    for (size_t i = 0; i < bytes; ++i) data.push_back(static_cast<std::byte>(i * 7 + name.size()));
  }
  std::unique_ptr<model::ModelSource> Source() const {
    std::vector<model::ModelSource::Tensor> tensors;
    for (const auto& [name, data] : values) {
      tensors.push_back({.matrix = {.name = name,
                                    .type = type,
                                    .rows = rows,
                                    .cols = static_cast<int64_t>(data.size()) / 4 / rows,
                                    .data = data,
                                    .owner = nullptr},
                         .make = {}});
    }
    return std::make_unique<model::ModelSource>("/m", "gguf", formats::GgufMetadata(), std::move(tensors), nullptr);
  }
  uint64_t Hash() const { return ModelFingerprint(*Source()); }
  // Whether another byte there is another model.
  bool Covers(const std::string& name, size_t at) {
    const uint64_t before = Hash();
    std::byte& byte = values.at(name).at(at);
    byte ^= std::byte{1};
    const bool other = Hash() != before;
    byte ^= std::byte{1};
    return other;
  }

  std::map<std::string, std::vector<std::byte>> values;
  formats::TensorType type = formats::TensorType::kF32;
  int64_t rows = 1;
};

TensorsInMemory FiveLayers() {
  TensorsInMemory out;
  for (const char* name : {"token_embd.weight", "output_norm.weight", "output.weight"}) out.Add(name, 64);
  for (int layer = 0; layer < 5; ++layer) {
    for (const char* name : {"attn_norm", "attn_q", "attn_k", "attn_qkv", "attn_output", "ffn_down", "attn_v"}) {
      out.Add("blk." + std::to_string(layer) + "." + name + ".weight", 64);
    }
  }
  return out;
}

// The files of sessions that an earlier version wrote have it.
TEST(ModelFingerprint, StaysTheSame) {
  const auto tiny = model::ModelSource::Open(std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf");
  ASSERT_TRUE(tiny);
  EXPECT_EQ(ModelFingerprint(**tiny), 10727002186419083614u);
  EXPECT_EQ(FiveLayers().Hash(), 1907002760495783153u);
  EXPECT_EQ(TensorsInMemory().Hash(), 12161962213042174405u);
}

TEST(ModelFingerprint, CoversTheFirstTheMiddleAndTheLastLayer) {
  TensorsInMemory model = FiveLayers();
  for (const char* name : {"token_embd.weight", "output_norm.weight", "output.weight"}) {
    EXPECT_TRUE(model.Covers(name, 0)) << name;
  }
  for (int layer = 0; layer < 5; ++layer) {
    for (const char* name : {"attn_norm", "attn_q", "attn_k", "attn_qkv", "attn_output", "ffn_down"}) {
      const std::string tensor = "blk." + std::to_string(layer) + "." + name + ".weight";
      EXPECT_EQ(model.Covers(tensor, 0), layer % 2 == 0) << tensor;
    }
    EXPECT_FALSE(model.Covers("blk." + std::to_string(layer) + ".attn_v.weight", 0));
  }
}

TEST(ModelFingerprint, CoversTheBeginningOfEachSixteenthOfATensor) {
  TensorsInMemory model;
  constexpr size_t kPart = 5000;
  model.Add("output.weight", 16 * kPart);
  for (const size_t part : {0, 1, 7, 15}) {
    EXPECT_TRUE(model.Covers("output.weight", part * kPart)) << part;
    EXPECT_TRUE(model.Covers("output.weight", part * kPart + 4095)) << part;
    EXPECT_FALSE(model.Covers("output.weight", part * kPart + 4096)) << part;
    EXPECT_FALSE(model.Covers("output.weight", part * kPart + 4999)) << part;
  }
}

TEST(ModelFingerprint, AnotherTypeOrShapeIsAnotherModel) {
  TensorsInMemory model = FiveLayers();
  const uint64_t plain = model.Hash();
  model.rows = 2;
  const uint64_t shaped = model.Hash();
  model.type = formats::TensorType::kQ4_0;
  EXPECT_NE(shaped, plain);
  EXPECT_NE(model.Hash(), shaped);
}

TEST(LoadProgressTest, IsTheShareOfTheWeightsThatThisTryHasTaken) {
  LoadProgress progress;
  EXPECT_EQ(progress.Read().backend, "");
  EXPECT_EQ(progress.Read().fraction, 0);
  TensorsInMemory model;
  model.Add("a", 4 * 30);
  model.Add("b", 4 * 10);
  const std::shared_ptr<const model::ModelSource> source = model.Source();
  progress.Try("cuda", "native", source);
  EXPECT_EQ(progress.Read().fraction, 0);
  ASSERT_TRUE(source->Matrix("a", 1, 30));
  EXPECT_EQ(progress.Read().fraction, 0.75);
  progress.Try("cpu", "llama_cpp", source);
  EXPECT_EQ(progress.Read().backend, "cpu");
  EXPECT_EQ(progress.Read().provider, "llama_cpp");
  EXPECT_EQ(progress.Read().fraction, 0) << "what the first try took does not count";
  ASSERT_TRUE(source->Matrix("b", 1, 10));
  EXPECT_EQ(progress.Read().fraction, 0.25);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(source->Matrix("a", 1, 30));
  EXPECT_EQ(progress.Read().fraction, 1) << "never more than all";
  progress.Report(0.5);
  EXPECT_EQ(progress.Read().fraction, 0.5) << "of another process";
  EXPECT_EQ(progress.Read().backend, "cpu");
  progress.Try("cpu", "native",
               std::make_shared<const model::ModelSource>("/m", "gguf", formats::GgufMetadata(),
                                                          std::vector<model::ModelSource::Tensor>(), nullptr));
  EXPECT_EQ(progress.Read().fraction, 0) << "a model without weights";
}

}  // namespace
}  // namespace inferflux::serving
