// Selects a model's settings on each backend that it is tried on.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "config/backend_setting.h"
#include "serving/backends/backend_factory.h"
#include "serving/backends/target.h"

namespace inferflux::serving {

// One entry of runtime.backends, for a target or for one of its providers.
struct BackendRule {
  TargetHint backend;
  BackendConfig config;
};

// The names of the settings in `config` that no engine of `backend` reads. Empty for `auto`.
std::vector<std::string_view> UnusedSettings(const BackendConfig& config, const TargetHint& backend);

// kInvalidArgument if there are such settings, because they were set for exactly this backend.
Status CheckSettings(const BackendConfig& config, const TargetHint& backend);

// Errors name the entry: an unknown word, auto, a duplicate backend, a setting that the backend cannot use.
Result<std::vector<BackendRule>> MakeBackendRules(std::span<const config::BackendSetting> settings);

// Precedence of each setting: `own`; the rule for this provider of the target; the rule for the target; `shared`.
BackendConfig ConfigFor(const BackendConfig& own, std::span<const BackendRule> rules, const BackendConfig& shared,
                        Target target, Provider provider);

}  // namespace inferflux::serving
