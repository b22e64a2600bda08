#include "config/resolve.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "base/nearest.h"
#include "config/layer.h"
#include "config/value_parser.h"
#include "config/yaml_lists.h"

namespace inferflux::config {
namespace {

constexpr std::string_view kPrefix = "INFERFLUX_";
// Variables with this prefix that are not configuration: switches of the test suite and of the lowest floors.
constexpr std::array<std::string_view, 2> kOtherVariables = {"INFERFLUX_CPU_ISA", "INFERFLUX_CONFORMANCE_DIR"};
// Kubernetes sets INFERFLUX_SERVICE_HOST, INFERFLUX_PORT_8080_TCP and similar variables in every pod of a namespace
// that has a service "inferflux".
constexpr std::array<std::string_view, 2> kForeignPrefixes = {"INFERFLUX_SERVICE_", "INFERFLUX_PORT"};

std::string VariableName(const Key& key) {
  std::string out(kPrefix);
  for (const char c : key.name) out += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

bool IsForeign(std::string_view name) {
  return std::find(kOtherVariables.begin(), kOtherVariables.end(), name) != kOtherVariables.end() ||
         std::any_of(kForeignPrefixes.begin(), kForeignPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

Result<std::vector<ModelSetting>> One(Result<ModelSetting> model) {
  if (!model) return Forward(model);
  return std::vector{std::move(*model)};
}

Result<Layer> ReadEnvironmentLayer(const Environment& environment) {
  std::vector<std::string> names = {"INFERFLUX_MODEL", "INFERFLUX_CONFIG", "INFERFLUX_MODELS",
                                    "INFERFLUX_RUNTIME_BACKENDS"};
  std::map<std::string, size_t, std::less<>> keys;  // by variable
  for (size_t i = 0; i < kKeyCount; ++i) {
    keys[VariableName(kSchema[i])] = i;
    for (const Alias& alias : kAliases) {
      if (alias.key == kSchema[i].name) keys[std::string(alias.variable)] = i;
    }
  }
  for (const auto& [variable, index] : keys) names.push_back(variable);
  Layer out;
  for (const auto& [name, text] : environment) {
    if (IsForeign(name)) continue;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      const std::vector<std::string_view> candidates(names.begin(), names.end());
      return Fail(ErrorCode::kInvalidArgument, "unknown environment variable {}{}", name, Suggestion(name, candidates));
    }
    const std::string origin = "environment " + name;
    if (name == "INFERFLUX_MODEL" || name == "INFERFLUX_MODELS") {
      if (out.models) {
        return Fail(ErrorCode::kInvalidArgument, "INFERFLUX_MODEL and INFERFLUX_MODELS are both set; set one of them");
      }
      auto models = name == "INFERFLUX_MODELS" ? ParseModelList(text, origin) : One(ParseModelSetting(text, origin));
      if (!models) return Forward(models);
      out.models = std::move(*models);
    } else if (name == "INFERFLUX_RUNTIME_BACKENDS") {
      auto backends = ParseBackendMaps(text, origin);
      if (!backends) return Forward(backends);
      out.backends = std::move(*backends);
    } else if (const auto key = keys.find(name); key != keys.end()) {
      if (const auto set = out.values.find(key->second); set != out.values.end()) {
        return Fail(ErrorCode::kInvalidArgument, "{} and {} set the same key; set one of them", origin,
                    set->second.second);
      }
      out.values[key->second] = {text, origin};
    }
  }
  return out;
}

Result<Layer> FlagLayer(const FlagValues& flags) {
  Layer out;
  for (const auto& [index, text] : flags.values) out.values[index] = {text, "flag " + FlagName(kSchema[index])};
  for (const std::string& text : flags.models) {
    Result<ModelSetting> model = ParseModelSetting(text, "flag --model");
    if (!model) return Forward(model);
    if (!out.models) out.models.emplace();
    out.models->push_back(std::move(*model));
  }
  return out;
}

// --served-model-name is the id of the one model.
Status NameModel(const std::string& name, std::vector<ModelSetting>& models) {
  if (name.empty()) return {};
  if (models.size() != 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "flag --served-model-name: it names one model, and there are {}; write --model ID=FILE for each",
                models.size());
  }
  models.front().id = name;
  return {};
}

// A "~/" that no shell has expanded: in a file, in the environment, or after "=" in a flag.
void ExpandHome(std::string& path) {
  const char* home = std::getenv("HOME");
  if (home != nullptr && path.starts_with("~/")) path.replace(0, 1, home);
}

std::string FilePath(const FlagValues& flags, const Environment& environment) {
  if (!flags.file.empty()) return flags.file;
  const auto found = environment.find("INFERFLUX_CONFIG");
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace

Environment ReadEnvironment(const char* const* environ) {
  Environment out;
  for (; environ != nullptr && *environ != nullptr; ++environ) {
    const std::string_view entry(*environ);
    const size_t equals = entry.find('=');
    if (!entry.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

Result<Settings> Resolve(const FlagValues& flags, const Environment& environment) {
  std::vector<Layer> layers;  // in increasing precedence: a later one wins
  if (const std::string path = FilePath(flags, environment); !path.empty()) {
    Result<Layer> file = ReadFileLayer(path);
    if (!file) return Forward(file);
    layers.push_back(std::move(*file));
  }
  for (Result<Layer> layer : {ReadEnvironmentLayer(environment), FlagLayer(flags)}) {
    if (!layer) return Forward(layer);
    layers.push_back(std::move(*layer));
  }

  std::array<Value, kKeyCount> values;
  std::vector<ModelSetting> models;
  std::vector<BackendSetting> backends;
  for (size_t i = 0; i < kKeyCount; ++i) values[i].text = kSchema[i].initial;
  for (Layer& layer : layers) {
    for (auto& [index, value] : layer.values) values[index] = {std::move(value.first), 0, std::move(value.second)};
    if (layer.models) models = std::move(*layer.models);
    if (layer.backends) backends = std::move(*layer.backends);
  }
  for (size_t i = 0; i < kKeyCount; ++i) {
    Result<int64_t> number = ParseValue(kSchema[i], values[i].text, values[i].origin);
    if (!number) return Forward(number);
    values[i].number = *number;
    if (kSchema[i].type == Type::kText) ExpandHome(values[i].text);
  }
  for (ModelSetting& model : models) {
    ExpandHome(model.path);
    ExpandHome(model.draft);
  }
  if (Status named = NameModel(flags.served_name, models); !named) return Forward(named);
  if (Status complete = CompleteModels(models); !complete) return Forward(complete);
  return Settings(std::move(values), std::move(models), std::move(backends));
}

}  // namespace inferflux::config
