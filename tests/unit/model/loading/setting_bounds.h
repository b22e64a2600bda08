// Sets one setting of a test model to a value, and says why its configuration is refused then.
#pragma once

#include <boost/json.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "model/families/family.h"
#include "model/loading/edited_gguf.h"
#include "model/loading/model_source.h"

namespace inferflux::model::testing {

inline std::string WithoutPath(std::string text, const std::string& path) {
  for (size_t at; (at = text.find(path)) != std::string::npos;) text.replace(at, path.size(), "PATH");
  return text;
}

inline std::string ConfigRefusal(const std::string& path) {
  const auto source = ModelSource::Open(path);
  std::string out;
  if (!source) {
    out = source.error().message;
  } else if (const auto config = ReadModelConfig(**source, 32); !config) {
    out = config.error().message;
  }
  return WithoutPath(std::move(out), path);
}

// `value` is an integer, a number, a boolean or a text; null is not a number.
inline void SetMetadata(formats::GgufWriter& w, const std::string& key, const boost::json::value& value) {
  if (const auto* integer = value.if_int64()) {
    if (*integer > std::numeric_limits<int32_t>::max()) return w.Set(key, static_cast<uint32_t>(*integer));
    return w.Set(key, static_cast<int32_t>(*integer));
  }
  if (const auto* number = value.if_double()) return w.Set(key, static_cast<float>(*number));
  if (const auto* truth = value.if_bool()) return w.Set(key, *truth);
  if (const auto* text = value.if_string()) return w.Set(key, std::string(*text));
  return w.Set(key, std::numeric_limits<float>::quiet_NaN());
}

// Of tests/data/models/NAME.gguf.
inline std::string RefusalOfGguf(const std::string& name, const std::string& key, const boost::json::value& value) {
  return ConfigRefusal(EditedModel(name, [&](formats::GgufWriter& w) { SetMetadata(w, key, value); }));
}

// A copy of tests/data/FOLDER/NAME-hf, whose config.json may change.
class EditedDirectory {
 public:
  EditedDirectory(const std::string& folder, const std::string& name) : path_(EditedFolder::Path() / (name + "-hf")) {
    std::filesystem::remove_all(path_);
    std::filesystem::copy(DataPath(folder + "/" + name + "-hf"), path_, std::filesystem::copy_options::recursive);
    std::ostringstream text;
    text << std::ifstream(path_ / "config.json").rdbuf();
    config_ = boost::json::parse(text.str());
  }
  ~EditedDirectory() { std::filesystem::remove_all(path_); }
  EditedDirectory(const EditedDirectory&) = delete;
  EditedDirectory& operator=(const EditedDirectory&) = delete;

  const boost::json::value& config() const { return config_; }

  // `pointer` leads to the setting, as in /text_config/hidden_size.
  std::string Refusal(const std::string& pointer, const boost::json::value& value) const {
    boost::json::value changed = config_;
    changed.at_pointer(pointer) = value;
    return ConfigRefusal(Write(changed));
  }

  // The path of the directory with this configuration.
  std::string Write(const boost::json::value& config) const {
    std::ofstream(path_ / "config.json") << boost::json::serialize(config);
    return path_.string();
  }

 private:
  std::filesystem::path path_;
  boost::json::value config_;
};

}  // namespace inferflux::model::testing
