// How many KV blocks and recurrent states an engine gets, from its options and its device's free memory.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/native/engine_options.h"
#include "model/model_config.h"

namespace inferflux::engine {

struct KvBudget {
  int32_t blocks = 0;
  int32_t context = 0;    // maximum tokens of a sequence: as requested, but never more than all blocks hold
  int32_t states = 0;     // slots for recurrent states; 0: the model has none
  int32_t sequences = 0;  // maximum live sequences: as requested, but never more than states allow
};

// Free bytes of host memory, for engines that keep their KV there.
int64_t AvailableMemory();

// `token_bytes`: one token's keys and values in all layers (KvTokenBytes). `available_bytes`: free on the device.
// kInvalidArgument names an option that is not valid; kResourceExhausted if the memory cannot hold a single block.
Result<KvBudget> PlanKv(const model::ModelConfig& config, int64_t token_bytes, const EngineOptions& options,
                        int64_t available_bytes);

}  // namespace inferflux::engine
