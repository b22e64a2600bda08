// The keys that one source of configuration sets. Private to config/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/backend_setting.h"
#include "config/model_setting.h"
#include "config/schema.h"

namespace inferflux::config {

struct Layer {
  std::map<size_t, std::pair<std::string, std::string>> values;  // by the key's row: text and origin
  std::optional<std::vector<ModelSetting>> models;
  std::optional<std::vector<BackendSetting>> backends;
};

// Reads a YAML file. Paths of models in it are relative to the file's folder.
Result<Layer> ReadFileLayer(const std::string& path);

}  // namespace inferflux::config
