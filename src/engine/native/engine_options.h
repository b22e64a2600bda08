// The options of a native engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "collective/collective.h"
#include "compute/device.h"
#include "model/shard.h"

namespace inferflux::engine {

struct EngineOptions {
  int32_t context = 0;                  // maximum tokens of a sequence; 0: the model's trained context
  int32_t max_sequences = 128;          // maximum number of live sequences
  int32_t block_size = 32;              // tokens in a KV block
  int64_t kv_bytes = 0;                 // memory for KV; 0: a quarter of the free memory, or less if less is enough
  std::string kv_dtype = "fp16";        // fp32, fp16, bf16, int8 or fp8
  compute::ContextOptions device = {};  // device, threads, and how weights are held
  bool time_steps = false;              // fills StepResult::device_seconds; waits for the device, which may cost time
  bool graphs = true;                   // captures decode steps and replays them, on backends that can (GraphCapture)
  int32_t streams = 1;  // of a step, on backends that can (TwoStreams): 2: prompts beside decodes; not with other ranks
  std::stop_token stop = {};                                // cancels the load: kCancelled
  model::Parallelism parallelism = {};                      // the model's ranks, of which this is one:
  std::shared_ptr<collective::Collective> ranks = nullptr;  // null: the only one
  // What the ranks' devices exchange through, on backends that have a choice (DeviceCollectives): auto, nccl or host.
  std::string collectives = "auto";
  // Called once, by a step, when a rank has died or failed: no step will succeed any more.
  std::function<void(const Error&)> on_lost_rank = {};
};

}  // namespace inferflux::engine
