// What the llama.cpp engine is made with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace inferflux::engine {

struct LlamaOptions {
  std::string target = "cpu";     // the kind of device: one of LlamaTargets()
  int32_t device = -1;            // of that kind, in the library's order; -1: all of them share the model
  int32_t context = 0;            // tokens a sequence may have; 0: as many as the model was trained for
  int64_t kv_bytes = 0;           // memory for KV; 0: a quarter of what is free, or less where less can be used
  std::string kv_dtype = "fp16";  // fp32, fp16 or bf16
  int32_t batch = 2048;           // tokens that one call into the library takes
  int32_t micro_batch = 512;      // tokens that it computes at once
  int32_t threads = 1;
  bool flash_attention = true;             // where the model and the device can
  int32_t gpu_layers = -1;                 // layers on the device; -1: all. A CPU takes no notice
  std::function<void(float)> on_progress;  // of loading, 0 to 1, on the loading thread; may be empty
};

}  // namespace inferflux::engine
