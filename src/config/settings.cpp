#include "config/settings.h"

#include <fmt/format.h>

namespace inferflux::config {

BackendConfig Settings::backend_defaults() const {
  BackendConfig out;
  for (const BackendField& field : BackendFields()) field.Set(out, values_[field.key].text, values_[field.key].number);
  return out;
}

BackendConfig Settings::backend_changes() const {
  BackendConfig out;
  for (const BackendField& field : BackendFields()) {
    const Value& value = values_[field.key];
    if (value.text != kSchema[field.key].initial) field.Set(out, value.text, value.number);
  }
  return out;
}

std::string Settings::Describe(Program program) const {
  std::string out;
  for (size_t i = 0; i < kKeyCount; ++i) {
    const Key& key = kSchema[i];
    if (!Reads(program, key)) continue;
    const bool hidden = key.secret && !values_[i].text.empty();
    out += fmt::format("{} = {}  # {}\n", key.name, hidden ? "(set, not shown)" : values_[i].text, values_[i].origin);
  }
  if ((program & (kServer | kWorker)) == 0) return out;
  for (size_t i = 0; i < models_.size(); ++i) {
    const ModelSetting& model = models_[i];
    std::string own = config::Describe(model.config);
    if (model.keep_alive) own = fmt::format("keep_alive: {}{}{}", *model.keep_alive, own.empty() ? "" : ", ", own);
    out += fmt::format("models[{}] = {{id: {}, path: {}, default: {}, context: {}, backend: {}{}{}}}  # {}\n", i,
                       model.id, model.path, model.is_default, model.context, model.backend, own.empty() ? "" : ", ",
                       own, model.origin);
  }
  for (size_t i = 0; i < backends_.size(); ++i) {
    const std::string own = config::Describe(backends_[i].config);
    out += fmt::format("runtime.backends[{}] = {{backend: {}{}{}}}  # {}\n", i, backends_[i].backend,
                       own.empty() ? "" : ", ", own, backends_[i].origin);
  }
  return out;
}

}  // namespace inferflux::config
