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

// Errors name the entry: an unknown word, auto, a backend that comes twice.
Result<std::vector<BackendRule>> MakeBackendRules(std::span<const config::BackendSetting> settings);

// `own` where it says something; then what the rules say of this provider of the target, and of the target; then
// `shared`.
BackendConfig ConfigFor(const BackendConfig& own, std::span<const BackendRule> rules, const BackendConfig& shared,
                        Target target, Provider provider);

// kInvalidArgument, with the devices that there are, where the engine lacks the one of this index; -1 is none in
// particular.
Status CheckDevice(const EngineEntry& engine, int32_t device);

}  // namespace inferflux::serving
