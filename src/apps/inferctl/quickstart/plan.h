// What a server's settings should be on this machine, for one model and the backend that a user asks for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::apps {

inline constexpr int64_t kMiB = int64_t{1} << 20;

// What of a model decides.
struct QuickstartModel {
  std::string path;
  std::string format;           // "gguf", "huggingface"
  std::string native_error;     // why InferFlux's own engines cannot serve it; empty: they can
  int64_t weight_bytes = 0;     // in types that every backend takes
  int64_t fp8_saves = 0;        // of these, where FP8 stays as it is
  int64_t affine_saves = 0;     // where MLX's groups do
  int64_t ordered_saves = 0;    // where inputs may stand in an order of their own
  int32_t layers = 0;           // 0: not known
  int32_t context = 0;          // tokens that one sequence may have; 0: not known
  int64_t kv_token_values = 0;  // keys and values that a token leaves in all layers; 0: not known
};

Result<QuickstartModel> ReadQuickstartModel(const std::string& path);

struct QuickstartPlan {
  std::string backend;                             // as runtime.backend takes it
  serving::Target target = serving::Target::kCpu;  // what it comes to here
  serving::Provider provider = serving::Provider::kNative;
  compute::Device device;
  std::string kv_dtype = "fp16";
  int64_t kv_budget = 0;    // bytes; 0: the server's default
  int32_t gpu_layers = -1;  // where llama.cpp drives a GPU; -1: all
};

// The first engine that asking for `word` leads to and that takes the model. kInvalidArgument: no such word;
// kUnsupported: none of them is in this build or on this machine, with every reason; kResourceExhausted: the model does
// not fit into the device's memory.
Result<QuickstartPlan> MakePlan(const std::string& word, std::span<const serving::EngineEntry> engines,
                                const QuickstartModel& model);

}  // namespace inferflux::apps
