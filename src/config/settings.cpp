#include "config/settings.h"

#include <fmt/format.h>

namespace inferflux::config {

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == ',') {
      out.emplace_back();
    } else if (c != ' ') {
      out.back() += c;
    }
  }
  return out;
}

std::vector<std::string> Settings::Words(KeyRef<Type::kWords> key) const { return SplitWords(values_[key.index].text); }

std::string Settings::Describe(Program program) const {
  std::string out;
  for (size_t i = 0; i < kKeyCount; ++i) {
    const Key& key = kSchema[i];
    if ((key.readers & program) == 0) continue;
    const bool hidden = key.secret && !values_[i].text.empty();
    out += fmt::format("{} = {}  # {}\n", key.name, hidden ? "(set, not shown)" : values_[i].text, values_[i].origin);
  }
  if ((program & kServer) == 0) return out;
  for (size_t i = 0; i < models_.size(); ++i) {
    const ModelSetting& model = models_[i];
    out += fmt::format("models[{}] = {{id: {}, path: {}, default: {}, context: {}, backend: {}, kv_dtype: {}}}  # {}\n", i,
                       model.id, model.path, model.is_default, model.context, model.backend, model.kv_dtype,
                       model.origin);
  }
  return out;
}

}  // namespace inferflux::config
