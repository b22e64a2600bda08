// The settings with which a backend runs a model. The most specific source that sets a value wins: first the model's
// own entry (models[]), then the entry of the backend that it runs on (runtime.backends[]), then runtime, which holds
// for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace inferflux::config {

struct BackendConfig {
  std::optional<std::string> device;  // number, UUID, PCI address or name; empty or -1: the backend chooses
  std::optional<std::string> kv_dtype;
  std::optional<int64_t> kv_budget;     // bytes; 0: derived from the free memory
  std::optional<bool> repack;           // cpu: repack the weights for speed at load
  std::optional<bool> mlx_requantise;   // mlx: 8 bits instead of BF16 for weights in a layout that it lacks
  std::optional<bool> cuda_graphs;      // cuda: capture decode steps and replay them
  std::optional<int32_t> cuda_streams;  // cuda: of a step; 2: prompts beside decodes
  // "original": RoPE as trained and no more context than that allows; "configured": as the context needs it
  std::optional<std::string> rope_context;
  std::optional<int32_t> tensor_parallel;    // processes that share each layer
  std::optional<int32_t> pipeline_parallel;  // processes that share the layers
  std::optional<std::string> collectives;    // cuda: what the processes' devices exchange through: auto, nccl or host
  // llama.cpp
  std::optional<int32_t> gpu_layers;           // layers on the device; -1: as many as its free memory holds
  std::optional<int32_t> batch;                // tokens per call into the library; 0: chosen automatically
  std::optional<int32_t> micro_batch;          // tokens that it computes at once; 0: chosen automatically
  std::optional<std::string> flash_attention;  // auto, on or off

  friend bool operator==(const BackendConfig&, const BackendConfig&) = default;
};

// Each member from `own` if it is set there, otherwise from `shared`.
BackendConfig MergeBackendConfig(BackendConfig own, const BackendConfig& shared);

// One of the members, under its name in configurations.
struct BackendField {
  std::string_view name;
  size_t key;  // the row of kSchema that sets it for all backends; same type and range
  std::variant<std::optional<int32_t> BackendConfig::*, std::optional<int64_t> BackendConfig::*,
               std::optional<bool> BackendConfig::*, std::optional<std::string> BackendConfig::*>
      member;

  // Sets the member from a value that ParseValue accepted: its text, and the number parsed from it.
  void Set(BackendConfig& config, const std::string& text, int64_t number) const;
  bool IsSet(const BackendConfig& config) const;
};
std::span<const BackendField> BackendFields();

// The members that are set: "device: 1, kv_dtype: fp16".
std::string Describe(const BackendConfig& config);

}  // namespace inferflux::config
