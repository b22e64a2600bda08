#include "config/yaml_lists.h"

#include <fmt/format.h>

#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/nearest.h"
#include "config/schema.h"
#include "config/value_parser.h"

namespace inferflux::config {
namespace {

// A field of one kind of map. The name of its key combines the list's name and its own.
template <class T>
struct Field {
  Key key;
  void (*set)(T& out, const std::string& text, int64_t number);

  std::string_view name() const { return key.name.substr(key.name.rfind('.') + 1); }
};

constexpr Field<ModelSetting> kModelFields[] = {
    {{"models.id", Type::kText, "", ""}, [](auto& out, const auto& text, int64_t) { out.id = text; }},
    {{"models.path", Type::kText, "", ""}, [](auto& out, const auto& text, int64_t) { out.path = text; }},
    {{.name = "models.format", .type = Type::kText, .initial = "", .help = "", .choices = "auto|gguf|huggingface"},
     [](auto& out, const auto& text, int64_t) { out.format = text; }},
    {{"models.draft", Type::kText, "", ""}, [](auto& out, const auto& text, int64_t) { out.draft = text; }},
    {{"models.default", Type::kSwitch, "", ""}, [](auto& out, const auto&, int64_t is) { out.is_default = is != 0; }},
    {{"models.keep_alive", Type::kInteger, "", "", "", -1, kMaxKeepAlive},
     [](auto& out, const auto&, int64_t number) { out.keep_alive = number; }},
    {{"models.context", Type::kInteger, "", "", "", 1, kMaxContext},
     [](auto& out, const auto&, int64_t number) { out.context = static_cast<int32_t>(number); }},
    {{"models.backend", Type::kWords, "", ""}, [](auto& out, const auto& text, int64_t) { out.backend = text; }},
};
constexpr Field<BackendSetting> kBackendFields[] = {
    {{"runtime.backends.backend", Type::kText, "", ""},
     [](auto& out, const auto& text, int64_t) { out.backend = text; }},
};

// The text of a field: one value, or, for words, also a list.
Result<std::string> TextOf(const YamlSource& source, const YAML::Node& value, const Key& key) {
  if (value.IsSequence() && key.type == Type::kWords) return JoinWords(source, value, key.name);
  if (!value.IsScalar())
    return Fail(ErrorCode::kInvalidArgument, "{}: '{}' must be one value", source.At(value), key.name);
  return value.Scalar();
}

template <class Set>
Status TakeValue(const YamlSource& source, const YAML::Node& value, const Key& key, const Set& set) {
  auto text = TextOf(source, value, key);
  if (!text) return Forward(text);
  return ParseValue(key, *text, source.At(value)).map([&](int64_t number) { set(*text, number); });
}

template <class T>
Status ParseField(const YamlSource& source, const YAML::Node& name, const YAML::Node& value, const std::string& list,
                  std::span<const Field<T>> fields, T& out) {
  std::vector<std::string_view> known;
  for (const Field<T>& field : fields) {
    if (field.name() == name.Scalar()) {
      return TakeValue(source, value, field.key,
                       [&](const std::string& text, int64_t number) { field.set(out, text, number); });
    }
    known.push_back(field.name());
  }
  for (const BackendField& field : BackendFields()) {
    if (field.name == name.Scalar()) {
      const std::string full = list + "." + name.Scalar();
      Key key = kSchema[field.key];
      key.name = full;
      return TakeValue(source, value, key,
                       [&](const std::string& text, int64_t number) { field.Set(out.config, text, number); });
    }
    known.push_back(field.name);
  }
  return Fail(ErrorCode::kInvalidArgument, "{}: unknown key '{}.{}'{}", source.At(name), list, name.Scalar(),
              Suggestion(name.Scalar(), known));
}

template <class T>
Result<std::vector<T>> ReadList(const YamlSource& source, const YAML::Node& maps, const std::string& list,
                                std::span<const Field<T>> fields) {
  if (!maps.IsSequence()) return Fail(ErrorCode::kInvalidArgument, "{}: '{}' must be a list", source.At(maps), list);
  std::vector<T> out;
  for (const YAML::Node& map : maps) {
    if (!map.IsMap()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: an entry of '{}' must be a map with a '{}'", source.At(map), list,
                  list == "models" ? "path" : "backend");
    }
    T entry;
    entry.origin = source.At(map);
    std::set<std::string> seen;
    for (const auto& field : map) {
      if (!seen.insert(field.first.Scalar()).second) {
        return Fail(ErrorCode::kInvalidArgument, "{}: '{}.{}' is set twice", source.At(field.first), list,
                    field.first.Scalar());
      }
      if (auto taken = ParseField(source, field.first, field.second, list, fields, entry); !taken)
        return Forward(taken);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

template <class Read>
auto ParseMaps(const std::string& text, const std::string& origin, Read read)
    -> decltype(read(YamlSource(), YAML::Node())) {
  try {
    return read(YamlSource{.name = origin}, YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {}", origin, error.what());
  }
}

}  // namespace

std::string YamlSource::Beside(const std::string& path) const {
  return path.starts_with("~/") ? path : (folder / path).string();
}

std::string YamlSource::At(const YAML::Node& node) const { return fmt::format("{}:{}", name, node.Mark().line + 1); }

Result<std::string> JoinWords(const YamlSource& source, const YAML::Node& list, std::string_view key) {
  std::string out;
  for (const YAML::Node& word : list) {
    if (!word.IsScalar())
      return Fail(ErrorCode::kInvalidArgument, "{}: '{}' must be a list of words", source.At(word), key);
    out += (out.empty() ? "" : ",") + word.Scalar();
  }
  return out;
}

Result<std::vector<ModelSetting>> ReadModels(const YamlSource& source, const YAML::Node& list) {
  auto out = ReadList<ModelSetting>(source, list, "models", kModelFields);
  if (!out) return out;
  for (ModelSetting& model : *out) {
    if (model.path.empty()) return Fail(ErrorCode::kInvalidArgument, "{}: a model needs a 'path'", model.origin);
    model.path = source.Beside(model.path);
    if (!model.draft.empty()) model.draft = source.Beside(model.draft);
  }
  return out;
}

Result<std::vector<BackendSetting>> ReadBackends(const YamlSource& source, const YAML::Node& list) {
  auto out = ReadList<BackendSetting>(source, list, "runtime.backends", kBackendFields);
  if (!out) return out;
  for (const BackendSetting& setting : *out) {
    if (setting.backend.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: an entry of 'runtime.backends' needs a 'backend'", setting.origin);
    }
  }
  return out;
}

Result<std::vector<ModelSetting>> ParseModelMaps(const std::string& text, const std::string& origin) {
  return ParseMaps(text, origin, ReadModels);
}

Result<std::vector<BackendSetting>> ParseBackendMaps(const std::string& text, const std::string& origin) {
  return ParseMaps(text, origin, ReadBackends);
}

}  // namespace inferflux::config
