#include "serving/backends/gpu_layers.h"

#include <gtest/gtest.h>

#include <functional>

#include "formats/gguf/gguf_metadata_builder.h"

namespace inferflux::serving {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

EngineEntry Engine(Target target, Provider provider, std::vector<compute::Device> devices) {
  return {.target = target, .provider = provider, .devices = [devices = std::move(devices)] { return devices; }};
}

std::shared_ptr<const model::ModelSource> Tiny() {
  const auto source = model::ModelSource::Open(std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf");
  EXPECT_TRUE(source);
  return *source;
}

TEST(GpuLayers, AModelThatFitsIsOnTheGpuWhole) {
  EXPECT_EQ(GpuLayersThatFit(4 * kGiB, 32, 24 * kGiB), -1);
  EXPECT_EQ(GpuLayersThatFit(4 * kGiB, 32, 0), -1) << "unknown memory";
  EXPECT_EQ(GpuLayersThatFit(4 * kGiB, 0, kGiB), -1) << "unknown layers";
}

TEST(GpuLayers, BoundsAreEighthsFifthsAndTheProgram) {
  constexpr int64_t kMiB = 1 << 20;
  // 8 GiB of weights need 9 GiB and 128 MiB, which are four fifths of 11680 MiB.
  EXPECT_EQ(GpuLayersThatFit(8 * kGiB, 32, 11'680 * kMiB), -1);
  EXPECT_EQ(GpuLayersThatFit(8 * kGiB, 32, 11'680 * kMiB - 5), 32);
  EXPECT_EQ(GpuLayersThatFit(8 * kGiB, 32, 320 * kMiB), 1) << "one of 256 MiB";
  EXPECT_EQ(GpuLayersThatFit(8 * kGiB, 32, 320 * kMiB - 5), 0);
  EXPECT_EQ(GpuLayersThatFit(8 * kGiB, 1, kGiB), 0);
  EXPECT_EQ(GpuLayersThatFit(1, 32, 1), 1) << "layers of less than a byte";
}

TEST(GpuLayers, OtherwiseAsManyLayersAsFitInFourFifths) {
  EXPECT_EQ(GpuLayersThatFit(32 * kGiB, 32, 20 * kGiB), 16);
  EXPECT_EQ(GpuLayersThatFit(32 * kGiB, 32, 1), 0);
  EXPECT_EQ(GpuLayersThatFit(4 * kGiB, 32, 5 * kGiB), 32) << "all layers, but not the rest of the weights";
  EXPECT_EQ(GpuLayersThatFit(4 * kGiB, 32, 5 * kGiB + kGiB / 2), 32) << "no more than there are";
}

TEST(GpuLayers, ASetNumberIsKeptAndOthersAreChosenFromTheDevice) {
  const auto source = Tiny();
  const int64_t weights = source->WeightBytes();
  const EngineEntry engine = Engine(Target::kVulkan, Provider::kLlamaCpp, {{"small", weights}, {"large", 64 * kGiB}});
  BackendConfig set{.gpu_layers = 3};
  ChooseGpuLayers(engine, *source, set);
  EXPECT_EQ(set.gpu_layers, 3);
  BackendConfig first{.gpu_layers = -1};
  ChooseGpuLayers(engine, *source, first);
  EXPECT_EQ(first.gpu_layers, LayersOf(*source) * 4 / 5) << "four fifths of the memory that the weights fill";
  BackendConfig second{.device = "1"};
  ChooseGpuLayers(engine, *source, second);
  EXPECT_EQ(second.gpu_layers, -1);
}

TEST(GpuLayers, NoLayersIsANumberToo) {
  const auto source = Tiny();
  const EngineEntry engine = Engine(Target::kVulkan, Provider::kLlamaCpp, {{"small", source->WeightBytes()}});
  BackendConfig none{.gpu_layers = 0};
  ChooseGpuLayers(engine, *source, none);
  EXPECT_EQ(none.gpu_layers, 0);
}

TEST(GpuLayers, ADeviceThatIsNotThereIsTheFirst) {
  const EngineEntry engine = Engine(Target::kVulkan, Provider::kLlamaCpp, {{"first", 1}, {"second", 2}});
  EXPECT_EQ(DeviceOf(engine, {}).name, "first");
  EXPECT_EQ(DeviceOf(engine, {.device = "1"}).name, "second");
  EXPECT_EQ(DeviceOf(engine, {.device = "7"}).name, "first");
  EXPECT_EQ(DeviceOf(EngineEntry{}, {}).name, "");
  EXPECT_EQ(DeviceOf(Engine(Target::kVulkan, Provider::kLlamaCpp, {}), {}).name, "");
}

TEST(GpuLayers, AFileThatSaysNothingOfLayersHasNone) {
  const auto layers = [](const std::function<void(formats::GgufMetadataBuilder&)>& set) {
    formats::GgufMetadataBuilder builder;
    set(builder);
    return LayersOf(model::ModelSource("/m", "gguf", builder.Build("/m"), {}, nullptr));
  };
  EXPECT_EQ(layers([](auto&) {}), 0);
  EXPECT_EQ(layers([](auto& file) { file.Set("general.architecture", int32_t{7}); }), 0);
  EXPECT_EQ(layers([](auto& file) { file.Set("general.architecture", "llama"); }), 0);
  EXPECT_EQ(layers([](auto& file) {
              file.Set("general.architecture", "llama");
              file.Set("llama.block_count", "many");
            }),
            0);
  EXPECT_EQ(layers([](auto& file) {
              file.Set("general.architecture", "llama");
              file.Set("llama.block_count", uint32_t{3});
            }),
            3);
}

TEST(GpuLayers, OtherEnginesDivideNoLayers) {
  const auto source = Tiny();
  BackendConfig config;
  ChooseGpuLayers(Engine(Target::kCpu, Provider::kLlamaCpp, {{"cpu", 1}}), *source, config);
  ChooseGpuLayers(Engine(Target::kMlx, Provider::kNative, {{"gpu", 1}}), *source, config);
  EXPECT_FALSE(config.gpu_layers);
}

}  // namespace
}  // namespace inferflux::serving
