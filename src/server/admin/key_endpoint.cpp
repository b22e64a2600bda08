#include "server/admin/key_endpoint.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "server/request/failed_login.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

struct ScopeRow {
  Scope scope;
  std::string_view allows;
};

constexpr ScopeRow kScopeRows[] = {
    {Scope::kRead, "list and describe models, and see the timelines of its own requests"},
    {Scope::kGenerate, "chat, complete, embed, and ask what may come next"},
    {Scope::kLoad, "load a model of the models directory by using it"},
    {Scope::kMetrics, "read the figures of the metrics and of the live view"},
    {Scope::kAdmin, "load and unload models, set the default, see workers and all requests"},
};

}  // namespace

net::Response DescribeKey(Services& services, const net::Request& request) {
  const std::shared_ptr<const AccessRules> rules = services.access.get();
  const std::string_view given = net::FindHeader(request.headers, "Authorization");
  json::array scopes;
  std::optional<ApiError> unknown;
  for (const ScopeRow& row : kScopeRows) {
    const auto caller = rules->keys.Check(given, row.scope);
    if (caller) scopes.push_back({{"name", keys::NameOf(row.scope)}, {"allows", row.allows}});
    if (!caller && caller.error().status == 401) unknown = caller.error();
  }
  if (unknown) {
    net::Response out = ErrorResponse(*unknown);
    CountFailedLogin(services, request, !given.empty(), out);
    return out;
  }
  const json::object out{{"object", "key"}, {"required", rules->keys.required()}, {"scopes", std::move(scopes)}};
  return net::Response(200, "application/json", json::serialize(out));
}

}  // namespace inferflux::server
