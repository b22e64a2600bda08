// Which settings a model runs with on each backend that it is tried on, and whether that backend has the device that
// they ask for.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "config/backend_setting.h"
#include "serving/backends/backend_factory.h"
#include "serving/backends/target.h"

namespace inferflux::serving {

// One entry of runtime.backends: for a target, or for one provider of it.
struct BackendRule {
  TargetHint backend;
  BackendConfig config;
};

// The settings that are set in `config` and that no engine of `backend` reads, by name. None of `auto`.
std::vector<std::string_view> UnusedSettings(const BackendConfig& config, const TargetHint& backend);

// kInvalidArgument where there are such settings: they were set for exactly this backend.
Status CheckSettings(const BackendConfig& config, const TargetHint& backend);

// Errors name the entry: an unknown word, auto, a backend that comes twice, a setting that the backend cannot use.
Result<std::vector<BackendRule>> MakeBackendRules(std::span<const config::BackendSetting> settings);

// `own` where it says something; then what the rules say of this provider of the target, and of the target; then
// `shared`.
BackendConfig ConfigFor(const BackendConfig& own, std::span<const BackendRule> rules, const BackendConfig& shared,
                        Target target, Provider provider);

// kInvalidArgument, with the devices that there are, where the engine lacks the one of this index; -1 is none in
// particular.
Status CheckDevice(const EngineEntry& engine, int32_t device);

}  // namespace inferflux::serving
