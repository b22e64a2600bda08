// Which models a server is to serve, as configured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/backend_config.h"

namespace inferflux::config {

struct ModelSetting {
  std::string id;  // the file's name without its ending, unless set
  std::string path;
  std::string draft;  // file of a smaller model with the same tokens, for speculative decoding; empty: none
  bool is_default = false;
  int32_t context = 0;   // tokens a sequence may have; 0: the model's own
  std::string backend;   // words to try, comma-separated; empty: runtime.backend
  std::string format;    // gguf or huggingface: what must lie there; empty or auto: whatever does
  BackendConfig config;  // its own words
  std::string origin;    // where it was set, for messages
};

// The id of a model that was given none: a file's name without ".gguf", or a directory's name.
std::string ModelIdOf(const std::string& path);

inline constexpr int32_t kMaxContext = 1 << 24;

// From INFERFLUX_MODELS: several of the form of ParseModelSetting, comma-separated; or, where it begins with "[", the
// maps that a file would have under `models`.
Result<std::vector<ModelSetting>> ParseModelList(std::string_view text, const std::string& origin);

// From one --model flag or INFERFLUX_MODEL: PATH or ID=PATH.
Result<ModelSetting> ParseModelSetting(std::string_view text, std::string origin);

// Fills ids that were left out, and refuses ids that come twice and more than one default.
Status CompleteModels(std::vector<ModelSetting>& models);

}  // namespace inferflux::config
