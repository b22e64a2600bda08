#include "serving/backends/backend_rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "serving/backends/backend_table.h"

namespace inferflux::serving {
namespace {

constexpr std::array<std::string_view, 3> kReadByAll = {"device", "kv_dtype", "kv_budget"};

}  // namespace

std::vector<std::string_view> UnusedSettings(const BackendConfig& config, const TargetHint& backend) {
  std::vector<std::string_view> out;
  if (backend.target == Target::kAuto) return out;
  const auto reads = [&](std::string_view name) {
    if (std::ranges::find(kReadByAll, name) != kReadByAll.end()) return true;
    return std::ranges::any_of(BackendTable(), [&](const BackendRow& row) {
      return row.target == backend.target && row.provider == backend.provider.value_or(row.provider) &&
             std::ranges::find(row.settings, name) != row.settings.end();
    });
  };
  for (const config::BackendField& field : config::BackendFields()) {
    if (field.IsSet(config) && !reads(field.name)) out.push_back(field.name);
  }
  return out;
}

Status CheckSettings(const BackendConfig& config, const TargetHint& backend) {
  const auto unused = UnusedSettings(config, backend);
  if (unused.empty()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "the backend '{}' cannot use the setting '{}'; remove it, or set it for a backend that can",
              HintName(backend), fmt::join(unused, "', '"));
}

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
    if (Status usable = CheckSettings(setting.config, *hint); !usable) return Forward(usable, setting.origin);
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

}  // namespace inferflux::serving
