// How llama.cpp runs a model on a target: the target's traits choose what no setting does.
#pragma once

#include <cstdint>

#include "config/backend_config.h"
#include "serving/backends/target.h"

namespace inferflux::serving {

struct LlamaTuning {
  int32_t gpu_layers = -1;  // layers on the device; -1: all
  int32_t batch = 0;        // tokens that one call into the library takes
  int32_t micro_batch = 0;  // tokens that it computes at once
  bool flash_attention = true;
};

// No layers leave a CPU, all go to a GPU unless told; the batch is never below the micro batch.
LlamaTuning TuneLlamaBackendConfig(const config::BackendConfig& config, const TargetTraits& traits);

}  // namespace inferflux::serving
