#include "serving/models/host_memory_need.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "serving/backends/gpu_layers.h"

namespace inferflux::serving {
namespace {

std::shared_ptr<const model::ModelSource> Source() {
  const auto source = model::ModelSource::Open(std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf");
  EXPECT_TRUE(source);
  return *source;
}

EngineEntry On(Target target, Provider provider = Provider::kNative, bool gpu = false) {
  return {.target = target, .provider = provider, .devices = [gpu] {
            return std::vector<compute::Device>{{.name = "d", .gpu = gpu}};
          }};
}

std::string Text(const HostMemoryNeed& need) {
  return std::to_string(need.weight_bytes) + " " + std::to_string(need.kv_bytes) + (need.holds_kv ? " kv" : "") +
         (need.mapped ? " mapped" : "");
}

TEST(HostMemoryNeed, IsTheWeightsAndTheKvThatTheHostHolds) {
  const auto source = Source();
  const int64_t weights = source->WeightBytes();
  const std::string all = std::to_string(weights);
  BackendConfig config{.kv_budget = 7};
  EXPECT_EQ(Text(NeedOf(On(Target::kCpu), config, *source, nullptr)), all + " 7 kv");
  EXPECT_EQ(Text(NeedOf(On(Target::kCpu), {}, *source, nullptr)), all + " 0 kv");
  EXPECT_EQ(Text(NeedOf(On(Target::kCpu), config, *source, source.get())), std::to_string(2 * weights) + " 7 kv");
  config.repack = false;
  EXPECT_EQ(Text(NeedOf(On(Target::kCpu), config, *source, source.get())), "0 7 kv mapped");
  EXPECT_EQ(Text(NeedOf(On(Target::kCpu, Provider::kLlamaCpp), config, *source, nullptr)), all + " 7 kv");
  EXPECT_EQ(Text(NeedOf(On(Target::kReference), config, *source, nullptr)), all + " 7 kv");
  config.repack = true;
  EXPECT_EQ(Text(NeedOf(On(Target::kCpu), config, *source, nullptr)), all + " 7 kv");
  for (const Target apple : {Target::kMlx, Target::kMps}) {
    EXPECT_EQ(Text(NeedOf(On(apple, Provider::kNative, true), config, *source, nullptr)), all + " 7 kv");
  }
}

TEST(HostMemoryNeed, OfAGpuIsWhatDoesNotFitThere) {
  const auto source = Source();
  const int32_t layers = LayersOf(*source);
  ASSERT_GT(layers, 1);
  const int64_t layer = source->WeightBytes() / layers;
  const auto need = [&](std::optional<int32_t> on_gpu, bool gpu = true) {
    return Text(
        NeedOf(On(Target::kCuda, Provider::kLlamaCpp, gpu), {.kv_budget = 7, .gpu_layers = on_gpu}, *source, nullptr));
  };
  EXPECT_EQ(need({}), "0 0");
  EXPECT_EQ(need(-1), "0 0");
  EXPECT_EQ(need(0), std::to_string(layer * layers) + " 0");
  EXPECT_EQ(need(1), std::to_string(layer * (layers - 1)) + " 0");
  EXPECT_EQ(need(layers - 1), std::to_string(layer) + " 0");
  EXPECT_EQ(need(layers), "0 0");
  EXPECT_EQ(need({}, false), std::to_string(source->WeightBytes()) + " 7 kv") << "a device without memory of its own";
}

TEST(HostMemoryNeed, OfAModelWithUnknownLayersIsAllOnTheGpu) {
  std::vector<model::ModelSource::Tensor> tensors;
  tensors.push_back({.matrix = {.name = "w", .rows = 2, .cols = 3, .data = {}, .owner = {}}, .make = {}});
  const model::ModelSource source("/m", "gguf", formats::GgufMetadata(), std::move(tensors), nullptr);
  ASSERT_EQ(source.WeightBytes(), 24);
  EXPECT_EQ(LayersOf(source), 0);
  for (const int32_t on_gpu : {-1, 0, 1}) {
    EXPECT_EQ(Text(NeedOf(On(Target::kCuda, Provider::kLlamaCpp, true), {.gpu_layers = on_gpu}, source, nullptr)),
              "0 0");
  }
  EXPECT_EQ(Text(NeedOf(On(Target::kCpu), {}, source, &source)), "48 0 kv");
}

TEST(HostMemoryNeed, OfALoadedModelIsWhatItsEngineReports) {
  ServedModel model;
  model.exposure.provider = "native";
  model.info.memory = {{.device = "a", .weight_bytes = 100, .kv_bytes = 20},
                       {.device = "b", .weight_bytes = 3, .kv_bytes = 4000}};
  EXPECT_EQ(HostMemoryOf(model, {.weight_bytes = 50, .holds_kv = false}, 800), 50);
  EXPECT_EQ(HostMemoryOf(model, {.weight_bytes = 50}, 800), 4123);
  EXPECT_EQ(HostMemoryOf(model, {.weight_bytes = 50, .mapped = true}, 800), 4020);
  model.info.draft = "d";
  EXPECT_EQ(HostMemoryOf(model, {.weight_bytes = 50}, 800), 4223) << "the draft's KV is an eighth";
  EXPECT_EQ(HostMemoryOf(model, {.weight_bytes = 5000}, 800), 5000 + 4020 + 100);
  model.info.draft = "";
  model.info.memory = {{.device = "a", .weight_bytes = 100, .kv_bytes = 0}};
  EXPECT_EQ(HostMemoryOf(model, {}, 800), 100);
  model.exposure.provider = "llama_cpp";
  EXPECT_EQ(HostMemoryOf(model, {}, 800), 900) << "it does not report its KV";
}

}  // namespace
}  // namespace inferflux::serving
