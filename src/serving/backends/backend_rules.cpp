#include "serving/backends/backend_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace inferflux::serving {
namespace {

constexpr double kGiB = 1 << 30;

std::string Describe(std::span<const compute::Device> devices) {
  std::string out;
  for (size_t i = 0; i < devices.size(); ++i) {
    out += fmt::format("{}{} ({}, {:.1f} GiB free)", i == 0 ? "" : ", ", i, devices[i].name,
                       static_cast<double>(devices[i].free_bytes) / kGiB);
  }
  return out;
}

}  // namespace

Result<std::vector<BackendRule>> MakeBackendRules(std::span<const config::BackendSetting> settings) {
  std::vector<BackendRule> out;
  for (const config::BackendSetting& setting : settings) {
    auto hint = ParseTarget(setting.backend);
    if (!hint) return Forward(hint, setting.origin);
    if (hint->target == Target::kAuto) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}: 'runtime.backends' is for one backend each; set what holds for all of them under 'runtime'",
                  setting.origin);
    }
    if (std::ranges::find(out, *hint, &BackendRule::backend) != out.end()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: the backend '{}' comes twice in 'runtime.backends'", setting.origin,
                  setting.backend);
    }
    out.push_back({*hint, setting.config});
  }
  return out;
}

BackendConfig ConfigFor(const BackendConfig& own, std::span<const BackendRule> rules, const BackendConfig& shared,
                        Target target, Provider provider) {
  BackendConfig out = own;
  for (const TargetHint& hint : {TargetHint{target, provider}, TargetHint{target, std::nullopt}}) {
    const auto rule = std::ranges::find(rules, hint, &BackendRule::backend);
    if (rule != rules.end()) out = MergeBackendConfig(std::move(out), rule->config);
  }
  return MergeBackendConfig(std::move(out), shared);
}

Status CheckDevice(const EngineEntry& engine, int32_t device) {
  if (device < 0) return {};
  const auto devices = engine.devices ? engine.devices() : std::vector<compute::Device>(1);
  if (static_cast<size_t>(device) < devices.size()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "there is no device {}: this backend has {}; set 'device' to {}, or leave it out", device,
              devices.empty() ? "none" : Describe(devices), devices.size() > 1 ? "one of them" : "0");
}

}  // namespace inferflux::serving
