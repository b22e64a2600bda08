#include <yaml-cpp/yaml.h>

#include <charconv>
#include <filesystem>
#include <set>
#include <system_error>

#include "config/layer.h"
#include "config/nearest.h"

namespace inferflux::config {
namespace {

constexpr int kMaxDepth = 8;
const std::vector<std::string_view> kModelFields = {"id",      "path",    "draft",    "default",
                                                    "context", "backend", "kv_dtype", "gpu_layers",
                                                    "mlx_requantise"};

Result<int32_t> WholeNumber(const std::string& field, const std::string& text, const std::string& origin, int32_t least,
                            int32_t most) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most) return number;
  return Fail(ErrorCode::kInvalidArgument, "{}: 'models.{}' must be a whole number from {} to {}", origin, field, least,
              most);
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<Layer> Read() {
    const YAML::Node root = YAML::LoadFile(path_);
    if (!root.IsNull()) {
      if (Status taken = TakeMap(root, "", 0); !taken) return Forward(taken);
    }
    return std::move(layer_);
  }

 private:
  std::string At(const YAML::Node& node) const { return fmt::format("{}:{}", path_, node.Mark().line + 1); }

  // Walks nested maps; the names on the way, joined by dots, are the key.
  Status TakeMap(const YAML::Node& map, const std::string& prefix, int depth) {
    if (!map.IsMap() || depth > kMaxDepth) {
      return Fail(ErrorCode::kInvalidArgument, "{}: '{}' must be a map of settings", At(map), prefix);
    }
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string name = prefix.empty() ? entry.first.Scalar() : prefix + "." + entry.first.Scalar();
      if (!seen.insert(name).second)
        return Fail(ErrorCode::kInvalidArgument, "{}: '{}' is set twice", At(entry.first), name);
      Status taken = name == "models" ? TakeModels(entry.second) : TakeEntry(entry.first, entry.second, name, depth);
      if (!taken) return taken;
    }
    return {};
  }

  Status TakeEntry(const YAML::Node& key, const YAML::Node& value, const std::string& name, int depth) {
    std::vector<std::string_view> known = {"models"};
    for (size_t i = 0; i < kKeyCount; ++i) {
      known.push_back(kSchema[i].name);
      if (kSchema[i].name == name) {
        if (value.IsSequence() && kSchema[i].type == Type::kWords) {
          auto words = JoinWords(value, name);
          if (!words) return Forward(words);
          layer_.values[i] = {std::move(*words), At(key)};
          return {};
        }
        if (!value.IsScalar()) return Fail(ErrorCode::kInvalidArgument, "{}: '{}' must be one value", At(key), name);
        layer_.values[i] = {value.Scalar(), At(key)};
        return {};
      }
      if (kSchema[i].name.starts_with(name + ".")) return TakeMap(value, name, depth + 1);
    }
    return Fail(ErrorCode::kInvalidArgument, "{}: unknown key '{}'{}", At(key), name, Suggestion(name, known));
  }

  // A list of words as its one-line form: [cuda, cpu] is "cuda,cpu".
  Result<std::string> JoinWords(const YAML::Node& list, const std::string& name) const {
    std::string out;
    for (const YAML::Node& word : list) {
      if (!word.IsScalar())
        return Fail(ErrorCode::kInvalidArgument, "{}: '{}' must be a list of words", At(word), name);
      out += (out.empty() ? "" : ",") + word.Scalar();
    }
    return out;
  }

  Status TakeModels(const YAML::Node& list) {
    if (!list.IsSequence()) return Fail(ErrorCode::kInvalidArgument, "{}: 'models' must be a list", At(list));
    layer_.models.emplace();
    for (const YAML::Node& entry : list) {
      Result<ModelSetting> model = TakeModel(entry);
      if (!model) return Forward(model);
      layer_.models->push_back(std::move(*model));
    }
    return {};
  }

  Result<ModelSetting> TakeModel(const YAML::Node& entry) {
    if (!entry.IsMap()) return Fail(ErrorCode::kInvalidArgument, "{}: a model must be a map with a 'path'", At(entry));
    ModelSetting out;
    out.origin = At(entry);
    for (const auto& field : entry) {
      const std::string& name = field.first.Scalar();
      if (name == "backend" && field.second.IsSequence()) {
        auto words = JoinWords(field.second, "models.backend");
        if (!words) return Forward(words);
        out.backend = std::move(*words);
        continue;
      }
      if (!field.second.IsScalar()) {
        return Fail(ErrorCode::kInvalidArgument, "{}: 'models.{}' must be one value", At(field.first), name);
      }
      if (Status taken = TakeModelField(name, field.second.Scalar(), At(field.first), out); !taken)
        return Forward(taken);
    }
    if (out.path.empty()) return Fail(ErrorCode::kInvalidArgument, "{}: a model needs a 'path'", out.origin);
    return out;
  }

  Status TakeModelField(const std::string& name, const std::string& text, const std::string& origin,
                        ModelSetting& out) {
    if (name == "id") {
      out.id = text;
    } else if (name == "path" || name == "draft") {
      (name == "path" ? out.path : out.draft) = (std::filesystem::path(path_).parent_path() / text).string();
    } else if (name == "backend") {
      out.backend = text;
    } else if (name == "kv_dtype") {
      out.kv_dtype = text;
    } else if (name == "default" || name == "mlx_requantise") {
      if (text != "true" && text != "false") {
        return Fail(ErrorCode::kInvalidArgument, "{}: 'models.{}' must be true or false", origin, name);
      }
      if (name == "default") out.is_default = text == "true";
      if (name == "mlx_requantise") out.mlx_requantise = text == "true";
    } else if (name == "context") {
      auto number = WholeNumber(name, text, origin, 1, kMaxContext);
      if (!number) return Forward(number);
      out.context = *number;
    } else if (name == "gpu_layers") {
      auto number = WholeNumber(name, text, origin, 0, kMaxGpuLayers);
      if (!number) return Forward(number);
      out.gpu_layers = *number;
    } else {
      return Fail(ErrorCode::kInvalidArgument, "{}: unknown key 'models.{}'{}", origin, name,
                  Suggestion(name, kModelFields));
    }
    return {};
  }

  const std::string& path_;
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
