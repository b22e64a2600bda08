// How llama.cpp runs a model on a target. The target's traits supply the values that no setting gives.
#pragma once

#include <cstdint>

#include "config/backend_config.h"
#include "serving/backends/target.h"

namespace inferflux::serving {

struct LlamaTuning {
  int32_t gpu_layers = -1;  // layers on the device; -1: all
  int32_t batch = 0;        // tokens per call into the library
  int32_t micro_batch = 0;  // tokens that it computes at once
  bool flash_attention = true;
};

// On a CPU no layers are offloaded; on a GPU all are, unless set otherwise. The batch is never below the micro batch.
LlamaTuning TuneLlamaBackendConfig(const config::BackendConfig& config, const TargetTraits& traits);

}  // namespace inferflux::serving
