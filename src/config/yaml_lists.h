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

// The source of a text.
struct YamlSource {
  std::string name;              // the file or the variable, for messages
  std::filesystem::path folder;  // base of relative paths in it; empty: the working directory

  std::string At(const YAML::Node& node) const;       // "server.yaml:12"
  std::string Beside(const std::string& path) const;  // a path of this source; "~/" stays, for the resolver
};

// Joins a list of words into one line: [cuda, cpu] becomes "cuda,cpu". `key` names it in errors.
Result<std::string> JoinWords(const YamlSource& source, const YAML::Node& list, std::string_view key);

Result<std::vector<ModelSetting>> ReadModels(const YamlSource& source, const YAML::Node& list);
Result<std::vector<BackendSetting>> ReadBackends(const YamlSource& source, const YAML::Node& list);

// The same for a text that holds only the list, such as a variable's: [{path: a.gguf, context: 4096}].
Result<std::vector<ModelSetting>> ParseModelMaps(const std::string& text, const std::string& origin);
Result<std::vector<BackendSetting>> ParseBackendMaps(const std::string& text, const std::string& origin);

}  // namespace inferflux::config
