// What a native engine is made with.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "compute/device.h"

namespace inferflux::engine {

struct EngineOptions {
  int32_t context = 0;                  // tokens a sequence may have; 0: as many as the model was trained for
  int32_t max_sequences = 128;          // live at once
  int32_t block_size = 32;              // tokens a KV block holds
  int64_t kv_bytes = 0;                 // memory for KV; 0: a quarter of what is free, or less where less can be used
  std::string kv_dtype = "fp16";        // fp32, fp16, bf16, int8 or fp8
  compute::ContextOptions device = {};  // on which device, with which threads, and how it holds the weights
  bool time_steps = false;              // StepResult::device_seconds; waits for the device, and so may cost time
  std::stop_token stop = {};            // calls the load off: kCancelled
};

}  // namespace inferflux::engine
