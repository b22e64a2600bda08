#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "base/nearest.h"
#include "config/layer.h"
#include "config/yaml_lists.h"

namespace inferflux::config {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path)
      : source_{.name = path, .folder = std::filesystem::path(path).parent_path()} {}

  Result<Layer> Read() {
    const YAML::Node root = YAML::LoadFile(source_.name);
    if (!root.IsNull()) {
      if (Status taken = TakeMap(root, ""); !taken) return Forward(taken);
    }
    return std::move(layer_);
  }

 private:
  // Walks nested maps. The key is the path of names, joined by dots. A map is entered only on the way to a known key,
  // so no file makes this deeper than the longest of these names.
  Status TakeMap(const YAML::Node& map, const std::string& prefix) {
    if (!map.IsMap()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: '{}' must be a map of settings", source_.At(map), prefix);
    }
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string name = prefix.empty() ? entry.first.Scalar() : prefix + "." + entry.first.Scalar();
      if (!seen.insert(name).second)
        return Fail(ErrorCode::kInvalidArgument, "{}: '{}' is set twice", source_.At(entry.first), name);
      Status taken = name == "models"             ? Keep(ReadModels(source_, entry.second), layer_.models)
                     : name == "runtime.backends" ? Keep(ReadBackends(source_, entry.second), layer_.backends)
                                                  : TakeEntry(entry.first, entry.second, name);
      if (!taken) return taken;
    }
    return {};
  }

  Status TakeEntry(const YAML::Node& key, const YAML::Node& value, const std::string& name) {
    std::vector<std::string_view> known = {"models", "runtime.backends"};
    for (size_t i = 0; i < kKeyCount; ++i) {
      known.push_back(kSchema[i].name);
      if (kSchema[i].name == name) {
        if (value.IsSequence() && kSchema[i].type == Type::kWords) {
          auto words = JoinWords(source_, value, name);
          if (!words) return Forward(words);
          layer_.values[i] = {std::move(*words), source_.At(key)};
          return {};
        }
        if (!value.IsScalar())
          return Fail(ErrorCode::kInvalidArgument, "{}: '{}' must be one value", source_.At(key), name);
        layer_.values[i] = {value.Scalar(), source_.At(key)};
        return {};
      }
      if (kSchema[i].name.starts_with(name + ".")) return TakeMap(value, name);
    }
    return Fail(ErrorCode::kInvalidArgument, "{}: unknown key '{}'{}", source_.At(key), name, Suggestion(name, known));
  }

  template <class T>
  static Status Keep(Result<std::vector<T>> list, std::optional<std::vector<T>>& out) {
    if (!list) return Forward(list);
    out = std::move(*list);
    return {};
  }

  YamlSource source_;
  Layer layer_;
};

}  // namespace

Result<Layer> ReadFileLayer(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return Fail(ErrorCode::kNotFound, "no configuration file {}", path);
  try {
    return Reader(path).Read();
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {}", path, error.what());
  }
}

}  // namespace inferflux::config
