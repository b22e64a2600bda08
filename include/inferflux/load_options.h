// How a model is loaded. Settings of a call are elsewhere (generation.h); a call that contradicts its model's load is
// kInvalidConfig.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace inferflux::embedded {

// What is unset, the model's file or the backend decides.
struct LoadOptions {
  std::optional<int64_t> context;       // tokens of one sequence, prompt and answer together
  std::optional<int64_t> batch;         // tokens of one step
  std::optional<int64_t> threads;       // that compute on the CPU; the models of a pool share the pool's
  std::optional<int64_t> gpu_layers;    // layers on the device, where the engine splits a model; -1: all
  std::string backend = "auto";         // a chain: "auto", "cpu", "cuda,cpu", ...
  std::optional<std::string> kv_dtype;  // fp32, fp16, bf16, int8 or fp8
  std::optional<int64_t> kv_budget;     // bytes of KV for all sequences
  std::string draft;                    // file of a small model with the same vocabulary, for speculative decoding
  std::stop_token cancel = {};          // ends the load with kCancelled
};

}  // namespace inferflux::embedded
