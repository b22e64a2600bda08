// What a backend runs a model with. What is unset is left to whoever is less specific: a model's own words (models[])
// come before those for the backend that it runs on (runtime.backends[]), and those before the ones for all (runtime).
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
  std::optional<int32_t> device;  // an index into the backend's list; -1: its own choice
  std::optional<std::string> kv_dtype;
  std::optional<int64_t> kv_budget;    // bytes; 0: from the memory that is free
  std::optional<bool> repack;          // cpu: weights laid out for speed at load
  std::optional<bool> mlx_requantise;  // mlx: 8 bits instead of BF16 for weights that it has no form for
  // llama.cpp
  std::optional<int32_t> gpu_layers;           // layers on the device; -1: all
  std::optional<int32_t> batch;                // tokens that one call into the library takes; 0: chosen
  std::optional<int32_t> micro_batch;          // tokens that it computes at once; 0: chosen
  std::optional<std::string> flash_attention;  // auto, on or off

  friend bool operator==(const BackendConfig&, const BackendConfig&) = default;
};

// `own` where it says something, `shared` elsewhere.
BackendConfig MergeBackendConfig(BackendConfig own, const BackendConfig& shared);

// One of the members, as configurations name it.
struct BackendField {
  std::string_view name;
  size_t key;  // the row of kSchema that says it for all backends; type and range are the same
  std::variant<std::optional<int32_t> BackendConfig::*, std::optional<int64_t> BackendConfig::*,
               std::optional<bool> BackendConfig::*, std::optional<std::string> BackendConfig::*>
      member;

  // From a value that ParseValue took: its text, and the number that it made of it.
  void Set(BackendConfig& config, const std::string& text, int64_t number) const;
  bool IsSet(const BackendConfig& config) const;
};
std::span<const BackendField> BackendFields();

// "device: 1, kv_dtype: fp16", of what is set.
std::string Describe(const BackendConfig& config);

}  // namespace inferflux::config
