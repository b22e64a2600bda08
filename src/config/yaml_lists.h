// The lists of maps that a configuration may hold: models, and runtime.backends. Private to config/.
#pragma once

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/backend_setting.h"
#include "config/model_setting.h"

namespace inferflux::config {

// Where a text comes from.
struct YamlSource {
  std::string name;              // of the file or the variable, for messages
  std::filesystem::path folder;  // what paths in it are relative to; empty: the working directory

  std::string At(const YAML::Node& node) const;  // "server.yaml:12"
};

// A list of words as its one-line form: [cuda, cpu] is "cuda,cpu". `key` names it in the error.
Result<std::string> JoinWords(const YamlSource& source, const YAML::Node& list, std::string_view key);

Result<std::vector<ModelSetting>> ReadModels(const YamlSource& source, const YAML::Node& list);
Result<std::vector<BackendSetting>> ReadBackends(const YamlSource& source, const YAML::Node& list);

// The same from a text of its own, such as a variable's: [{path: a.gguf, context: 4096}].
Result<std::vector<ModelSetting>> ParseModelMaps(const std::string& text, const std::string& origin);
Result<std::vector<BackendSetting>> ParseBackendMaps(const std::string& text, const std::string& origin);

}  // namespace inferflux::config
