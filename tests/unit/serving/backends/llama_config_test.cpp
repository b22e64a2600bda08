#include "serving/backends/llama_config.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace inferflux::serving {
namespace {

TEST(LlamaConfig, NoLayerLeavesACpuAndAllGoToAGpuUnlessTold) {
  EXPECT_EQ(TuneLlamaBackendConfig({.gpu_layers = 7}, Traits(Target::kCpu)).gpu_layers, 0);
  EXPECT_EQ(TuneLlamaBackendConfig({}, Traits(Target::kCuda)).gpu_layers, -1);
  EXPECT_EQ(TuneLlamaBackendConfig({.gpu_layers = 7}, Traits(Target::kCuda)).gpu_layers, 7);
}

TEST(LlamaConfig, WhatNobodySetIsChosen) {
  const LlamaTuning tuning = TuneLlamaBackendConfig({.batch = 100, .micro_batch = 0}, Traits(Target::kCpu));
  EXPECT_EQ(tuning.batch, 100);
  EXPECT_EQ(tuning.micro_batch, 100) << "never above the batch";
  EXPECT_TRUE(tuning.flash_attention);
  EXPECT_FALSE(TuneLlamaBackendConfig({}, Traits(Target::kOpencl)).flash_attention);
  EXPECT_FALSE(TuneLlamaBackendConfig({.flash_attention = "auto"}, Traits(Target::kOpencl)).flash_attention);
  EXPECT_TRUE(TuneLlamaBackendConfig({.flash_attention = "on"}, Traits(Target::kOpencl)).flash_attention);
}

TEST(LlamaConfig, ABatchHoldsAMicroBatch) {
  const auto sizes = [](std::optional<int32_t> batch, std::optional<int32_t> micro_batch) {
    const LlamaTuning tuning =
        TuneLlamaBackendConfig({.batch = batch, .micro_batch = micro_batch}, Traits(Target::kCuda));
    return std::pair(tuning.batch, tuning.micro_batch);
  };
  EXPECT_EQ(sizes({}, {}), std::pair(2048, 512));
  EXPECT_EQ(sizes(0, 0), std::pair(2048, 512));
  EXPECT_EQ(sizes(1, {}), std::pair(1, 1));
  EXPECT_EQ(sizes(511, {}), std::pair(511, 511));
  EXPECT_EQ(sizes(513, {}), std::pair(513, 512));
  EXPECT_EQ(sizes({}, 1), std::pair(2048, 1));
  EXPECT_EQ(sizes({}, 2048), std::pair(2048, 2048));
  EXPECT_EQ(sizes({}, 4096), std::pair(4096, 4096));
  EXPECT_EQ(sizes(3000, 100), std::pair(3000, 100));
}

}  // namespace
}  // namespace inferflux::serving
