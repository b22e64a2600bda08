#include "routing/llama_config.h"

#include <gtest/gtest.h>

namespace inferflux::routing {
namespace {

TEST(LlamaConfig, NoLayerLeavesACpuAndAllGoToAGpuUnlessTold) {
  EXPECT_EQ(TuneLlamaBackendConfig({.gpu_layers = 7}, Traits(Target::kCpu), 4).gpu_layers, 0);
  EXPECT_EQ(TuneLlamaBackendConfig({}, Traits(Target::kCuda), 4).gpu_layers, -1);
  EXPECT_EQ(TuneLlamaBackendConfig({.gpu_layers = 7}, Traits(Target::kCuda), 4).gpu_layers, 7);
}

TEST(LlamaConfig, WhatNobodySetIsChosen) {
  const auto config = TuneLlamaBackendConfig({.batch = 100}, Traits(Target::kCpu), 3);
  EXPECT_EQ(config.threads, 3);
  EXPECT_EQ(config.batch, 100);
  EXPECT_EQ(config.micro_batch, 100) << "never above the batch";
  EXPECT_TRUE(config.flash_attention);
  EXPECT_FALSE(*TuneLlamaBackendConfig({}, Traits(Target::kOpencl), 3).flash_attention);
  EXPECT_GE(*TuneLlamaBackendConfig({.micro_batch = 4096}, Traits(Target::kCuda), 3).batch, 4096);
}

TEST(LlamaConfig, AModelsOwnWordComesFirst) {
  const auto merged = MergeBackendConfig({.gpu_layers = 1}, {.gpu_layers = 2, .batch = 3, .flash_attention = false});
  EXPECT_EQ(merged.gpu_layers, 1);
  EXPECT_EQ(merged.batch, 3);
  EXPECT_EQ(merged.flash_attention, false);
  EXPECT_FALSE(merged.threads);
}

}  // namespace
}  // namespace inferflux::routing
