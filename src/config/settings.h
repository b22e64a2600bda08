// The resolved configuration: every key has a value and records where the value came from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/backend_setting.h"
#include "config/model_setting.h"
#include "config/schema.h"

namespace inferflux::config {

struct Value {
  std::string text;
  int64_t number = 0;  // for a number, a size or a switch
  std::string origin = "default";
};

class Settings {
 public:
  Settings(std::array<Value, kKeyCount> values, std::vector<ModelSetting> models, std::vector<BackendSetting> backends)
      : values_(std::move(values)), models_(std::move(models)), backends_(std::move(backends)) {}

  const std::string& Text(KeyRef<Type::kText> key) const { return values_[key.index].text; }
  int64_t Integer(KeyRef<Type::kInteger> key) const { return values_[key.index].number; }
  int64_t Bytes(KeyRef<Type::kBytes> key) const { return values_[key.index].number; }
  bool Switch(KeyRef<Type::kSwitch> key) const { return values_[key.index].number != 0; }
  // The words in order, comma-separated.
  const std::string& Words(KeyRef<Type::kWords> key) const { return values_[key.index].text; }
  // No source set it.
  bool IsDefault(KeyRef<Type::kText> key) const { return values_[key.index].origin == Value().origin; }
  // A flag set it.
  bool IsFlag(KeyRef<Type::kText> key) const { return values_[key.index].origin.starts_with("flag "); }
  const std::vector<ModelSetting>& models() const { return models_; }
  const std::vector<BackendSetting>& backends() const { return backends_; }
  // The settings that runtime holds for all backends, all of them set.
  BackendConfig backend_defaults() const;
  // Those of them that a source set to a value other than the default.
  BackendConfig backend_changes() const;

  // The names of the keys that have another value in `other`, and of the lists that differ: models, runtime.backends.
  std::vector<std::string_view> Differences(const Settings& other) const;

  // One line for each key that `program` reads: "server.port = 9000 # flag --port". Secrets are not shown.
  std::string Describe(Program program) const;

 private:
  // `origins`: with the place where each was set.
  std::string DescribeModels(bool origins) const;
  std::string DescribeBackends(bool origins) const;

  std::array<Value, kKeyCount> values_;
  std::vector<ModelSetting> models_;
  std::vector<BackendSetting> backends_;
};

}  // namespace inferflux::config
