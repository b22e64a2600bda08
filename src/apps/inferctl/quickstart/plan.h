// The settings for a server on this machine, for one model and the requested backend.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::apps {

inline constexpr int64_t kMiB = int64_t{1} << 20;

// The properties of a model that decide.
struct QuickstartModel {
  std::string path;
  std::string format;           // "gguf", "huggingface"
  std::string native_error;     // why no native engine can serve it; empty: one can
  int64_t weight_bytes = 0;     // in types that every backend supports
  int64_t fp8_saves = 0;        // of these, on a backend that keeps FP8
  int64_t affine_saves = 0;     // on a backend that keeps MLX's groups
  int64_t ordered_saves = 0;    // on a backend that permutes activations (act-order)
  int32_t layers = 0;           // 0: unknown
  int32_t context = 0;          // tokens of one sequence; 0: unknown
  int64_t kv_token_values = 0;  // bytes of K/V of one token in all layers; 0: unknown
};

Result<QuickstartModel> ReadQuickstartModel(const std::string& path);

struct QuickstartPlan {
  std::string backend;                             // as runtime.backend takes it
  serving::Target target = serving::Target::kCpu;  // the resolved target on this machine
  serving::Provider provider = serving::Provider::kNative;
  compute::Device device;
  std::string kv_dtype = "fp16";
  int64_t kv_budget = 0;    // bytes; 0: the server's default
  int32_t gpu_layers = -1;  // for llama.cpp on a GPU; -1: all
};

// The first engine that `word` selects and that supports the model. kInvalidArgument: unknown word; kUnsupported: none
// of its engines is in this build or on this machine, with every reason; kResourceExhausted: the model does not fit
// into the device's memory.
Result<QuickstartPlan> MakePlan(const std::string& word, std::span<const serving::EngineEntry> engines,
                                const QuickstartModel& model);

}  // namespace inferflux::apps
