// How llama.cpp is to run a model: what the user said, what was said for one model over what was said for all, and what
// the target's traits choose where nobody said anything.
#pragma once

#include <cstdint>
#include <optional>

#include "routing/target.h"

namespace inferflux::routing {

struct LlamaBackendConfig {
  std::optional<int32_t> gpu_layers;   // layers on the device
  std::optional<int32_t> batch;        // tokens that one call into the library takes
  std::optional<int32_t> micro_batch;  // tokens that it computes at once
  std::optional<int32_t> threads;      // on the CPU
  std::optional<bool> flash_attention;
};

// `own` where it says something, `shared` elsewhere.
LlamaBackendConfig MergeBackendConfig(const LlamaBackendConfig& own, const LlamaBackendConfig& shared);

// Everything set: no layers leave a CPU, all go to a GPU; `cores` threads; the batch is never below the micro batch.
LlamaBackendConfig TuneLlamaBackendConfig(LlamaBackendConfig config, const TargetTraits& traits, int32_t cores);

}  // namespace inferflux::routing
