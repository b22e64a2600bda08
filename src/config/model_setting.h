// The models that a server is configured to serve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/backend_config.h"

namespace inferflux::config {

struct ModelSetting {
  std::string id;  // default: the file's name without its extension
  std::string path;
  std::string draft;  // file of a smaller model with the same tokens, for speculative decoding; empty: none
  bool is_default = false;
  std::optional<int64_t> keep_alive;  // as runtime.keep_alive; none: it stays loaded
  int32_t context = 0;                // most tokens in a sequence; 0: runtime.context
  std::string backend;                // backends to try, comma-separated; empty: runtime.backend
  std::string format;                 // gguf or huggingface: the required format; empty or auto: any format
  BackendConfig config;               // its own settings
  std::string origin;                 // where it was set, for messages
};

// The default id of a model: a file's name without ".gguf", or a directory's name.
std::string ModelIdOf(const std::string& path);

// Parses INFERFLUX_MODELS: comma-separated entries as ParseModelSetting reads them, or, if it begins with "[", the maps
// that a file would have under `models`.
Result<std::vector<ModelSetting>> ParseModelList(std::string_view text, const std::string& origin);

// Parses one --model flag or INFERFLUX_MODEL: PATH or ID=PATH.
Result<ModelSetting> ParseModelSetting(std::string_view text, std::string origin);

// Fills in missing ids. Refuses duplicate ids and more than one default.
Status CompleteModels(std::vector<ModelSetting>& models);

}  // namespace inferflux::config
