#include "server/admin/admin_routing.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "server/request/fields.h"
#include "server/request/json_body.h"

namespace inferflux::server {
namespace {

constexpr std::string_view kSamePath = "same_path_only";
constexpr std::string_view kAnyCompatible = "any_compatible";

struct RoutingBody {
  bool allow_default_fallback = true;
  bool require_ready_backend = true;
  std::string fallback_scope;
};

constexpr Field<RoutingBody> kRoutingFields[] = {
    {"allow_default_fallback", BooleanField<RoutingBody>{&RoutingBody::allow_default_fallback}},
    {"require_ready_backend", BooleanField<RoutingBody>{&RoutingBody::require_ready_backend}},
    {"fallback_scope", TextField<RoutingBody>{&RoutingBody::fallback_scope, 64}},
};

}  // namespace

net::Response DescribeRouting(Services& services, const net::Request&) {
  const serving::RoutingPolicy policy = services.pool.policy();
  const bool any = policy.fallback_scope == serving::FallbackScope::kAnyCompatible;
  boost::json::object out;
  out["allow_default_fallback"] = policy.allow_default_fallback;
  out["require_ready_backend"] = policy.require_ready_backend;
  out["fallback_scope"] = any ? kAnyCompatible : kSamePath;
  return net::Response(200, "application/json", boost::json::serialize(out));
}

net::Response SetRouting(Services& services, const net::Request& request) {
  auto object = ParseJsonBody(request.body);
  if (!object) return ErrorResponse(object.error());
  serving::RoutingPolicy policy = services.pool.policy();
  RoutingBody body{policy.allow_default_fallback, policy.require_ready_backend, ""};
  if (ApiStatus taken = ParseObject<RoutingBody>(kRoutingFields, "", *object, body); !taken)
    return ErrorResponse(taken.error());
  policy.allow_default_fallback = body.allow_default_fallback;
  policy.require_ready_backend = body.require_ready_backend;
  if (body.fallback_scope == kAnyCompatible) {
    policy.fallback_scope = serving::FallbackScope::kAnyCompatible;
  } else if (body.fallback_scope == kSamePath) {
    policy.fallback_scope = serving::FallbackScope::kSamePathOnly;
  } else if (!body.fallback_scope.empty()) {
    return ErrorResponse(Refuse("fallback_scope", "must be {} or {}", kSamePath, kAnyCompatible).value());
  }
  services.pool.SetPolicy(policy);
  return DescribeRouting(services, request);
}

}  // namespace inferflux::server
