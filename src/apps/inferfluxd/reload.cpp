#include "apps/inferfluxd/reload.h"

#include <algorithm>
#include <string_view>

#include "apps/inferfluxd/token_settings.h"
#include "base/log.h"

namespace inferflux::apps {
namespace {

constexpr std::string_view kReloadable[] = {"server.api_keys_file",
                                            "server.api_key",
                                            "server.allowed_hosts",
                                            "server.allowed_origins",
                                            "server.open_metrics",
                                            "log.level",
                                            "log.format"};
constexpr std::string_view kRouting = "runtime.capability_routing.";
constexpr std::string_view kTokens = "server.jwt.";
constexpr std::string_view kLimits = "limits.";
constexpr std::string_view kFixedLimit = "limits.preparation_";

bool IsReloadable(std::string_view name) {
  if (name.starts_with(kLimits)) return !name.starts_with(kFixedLimit);
  return std::ranges::find(kReloadable, name) != std::end(kReloadable) || name.starts_with(kRouting) ||
         name.starts_with(kTokens);
}

}  // namespace

Result<server::AccessRules> AccessRulesOf(const config::Settings& settings) {
  server::AccessRules out;
  out.open_metrics = settings.Switch("server.open_metrics");
  auto sites =
      server::SitePolicy::Parse(settings.Words("server.allowed_hosts"), settings.Words("server.allowed_origins"));
  if (!sites) return Forward(sites);
  out.sites = std::move(*sites);
  if (const std::string& path = settings.Text("server.api_keys_file"); !path.empty()) {
    auto keys = server::ApiKeys::Load(path);
    if (!keys) return Forward(keys);
    out.keys = std::move(*keys);
  }
  if (const std::string& key = settings.Text("server.api_key"); !key.empty()) out.keys.AddClientKey(key);
  out.keys.SetUsualLimits({.running = settings.Integer("limits.running"),
                           .queued = settings.Integer("limits.queued"),
                           .body_bytes = settings.Bytes("limits.body_bytes"),
                           .connections = settings.Integer("limits.connections"),
                           .preparations = settings.Integer("limits.preparations"),
                           .tokens_per_minute = settings.Integer("limits.tokens_per_minute")});
  auto tokens = ReadTokenVerifier(settings);
  if (!tokens) return Forward(tokens);
  if (*tokens) out.keys.AcceptTokens(std::move(*tokens));
  return out;
}

serving::RoutingPolicy RoutingPolicyOf(const config::Settings& settings) {
  return {.allow_default_fallback = settings.Switch("runtime.capability_routing.allow_default_fallback"),
          .require_ready_backend = settings.Switch("runtime.capability_routing.require_ready_backend"),
          .fallback_scope = settings.Text("runtime.capability_routing.fallback_scope") == "any_compatible"
                                ? serving::FallbackScope::kAnyCompatible
                                : serving::FallbackScope::kSamePathOnly};
}

void Reloader::Reload() {
  if (Status applied = Apply(); !applied) {
    log::Error("SIGHUP: {}; the configuration stays as it was", applied.error().message);
  }
}

Status Reloader::Apply() {
  auto fresh = resolve_();
  if (!fresh) return Forward(fresh);
  auto access = AccessRulesOf(*fresh);
  if (!access) return Forward(access);
  const size_t keys = access->keys.size();
  net::TlsContext::Files certificate;
  if (running_.tls) {
    auto read = running_.tls->Read();
    if (!read) return Forward(read);
    certificate = std::move(*read);
  }
  // Everything that can fail comes before the first change.
  if (Status replaced = running_.server.ReplaceAccess(std::move(*access)); !replaced) return replaced;
  if (certificate) running_.tls->Use(std::move(certificate));
  if (const auto level = log::ParseLevel(fresh->Text("log.level"))) log::SetLevel(*level);
  if (const auto format = log::ParseFormat(fresh->Text("log.format"))) log::SetFormat(*format);
  const auto since_last = last_.Differences(*fresh);
  const bool routing =
      std::ranges::any_of(since_last, [](std::string_view name) { return name.starts_with(kRouting); });
  if (routing) running_.pool.SetPolicy(RoutingPolicyOf(*fresh));  // only then: the admin API may have set another one
  log::Info("SIGHUP: read the configuration again; {} API keys", keys);
  for (const std::string_view name : started_.Differences(*fresh)) {
    if (!IsReloadable(name)) log::Warning("SIGHUP: {} differs from the start; that takes effect at the next one", name);
  }
  last_ = std::move(*fresh);
  return {};
}

}  // namespace inferflux::apps
