// The options of the llama.cpp engine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace inferflux::engine {

struct LlamaOptions {
  std::string target = "cpu";  // the kind of device: one of LlamaTargets()
  int32_t device = -1;   // index within that kind, in the library's order; -1: the model is spread over all of them
  int32_t context = 0;   // maximum tokens of a sequence; 0: the model's trained context
  int64_t kv_bytes = 0;  // memory for KV; 0: a quarter of the free memory, or less if less is enough
  std::string kv_dtype = "fp16";  // fp32, fp16 or bf16
  int32_t batch = 2048;           // tokens per call into the library
  int32_t micro_batch = 512;      // tokens that it computes at once
  int32_t threads = 1;
  bool flash_attention = true;             // used if the model and the device support it
  int32_t gpu_layers = -1;                 // layers on the device; -1: all. Ignored on a CPU
  std::function<void(float)> on_progress;  // of loading, 0 to 1, on the loading thread; may be empty
};

}  // namespace inferflux::engine
