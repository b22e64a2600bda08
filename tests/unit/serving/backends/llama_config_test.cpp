#include "serving/backends/llama_config.h"

#include <gtest/gtest.h>

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
  EXPECT_GE(TuneLlamaBackendConfig({.micro_batch = 4096}, Traits(Target::kCuda)).batch, 4096);
}

}  // namespace
}  // namespace inferflux::serving
