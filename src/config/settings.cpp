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

std::vector<std::string_view> Settings::Differences(const Settings& other) const {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < kKeyCount; ++i) {
    if (values_[i].text != other.values_[i].text) out.push_back(kSchema[i].name);
  }
  if (DescribeModels(false) != other.DescribeModels(false)) out.emplace_back("models");
  if (DescribeBackends(false) != other.DescribeBackends(false)) out.emplace_back("runtime.backends");
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
  return out + DescribeModels(true) + DescribeBackends(true);
}

std::string Settings::DescribeModels(bool origins) const {
  std::string out;
  for (size_t i = 0; i < models_.size(); ++i) {
    const ModelSetting& model = models_[i];
    std::string own = config::Describe(model.config);
    if (model.keep_alive) own = fmt::format("keep_alive: {}{}{}", *model.keep_alive, own.empty() ? "" : ", ", own);
    if (!model.draft.empty()) own += fmt::format("{}draft: {}", own.empty() ? "" : ", ", model.draft);
    if (!model.format.empty()) own += fmt::format("{}format: {}", own.empty() ? "" : ", ", model.format);
    out += fmt::format("models[{}] = {{id: {}, path: {}, default: {}, context: {}, backend: {}{}{}}}{}\n", i, model.id,
                       model.path, model.is_default, model.context, model.backend, own.empty() ? "" : ", ", own,
                       origins ? "  # " + model.origin : "");
  }
  return out;
}

std::string Settings::DescribeBackends(bool origins) const {
  std::string out;
  for (size_t i = 0; i < backends_.size(); ++i) {
    const std::string own = config::Describe(backends_[i].config);
    out += fmt::format("runtime.backends[{}] = {{backend: {}{}{}}}{}\n", i, backends_[i].backend,
                       own.empty() ? "" : ", ", own, origins ? "  # " + backends_[i].origin : "");
  }
  return out;
}

}  // namespace inferflux::config
