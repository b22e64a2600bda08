#include "server/admin/admin_api.h"

#include "server/admin/admin_models.h"
#include "server/admin/admin_routing.h"
#include "server/admin/admin_state.h"
#include "server/admin/admin_workers.h"
#include "server/admin/key_endpoint.h"
#include "server/admin/session_endpoints.h"

namespace inferflux::server {
namespace {

using Action = scheduler::SessionCommand::Action;

template <Action action>
boost::asio::awaitable<void> Sessions(Services& services, const Caller& caller, const net::Request& request,
                                      net::ResponseWriter& writer) {
  return RunSessionCommand(services, action, caller, request, writer);
}

constexpr Route kAdminRoutes[] = {
    {"GET", "/v1/admin/models", Access::kAdmin, &ListAdminModels},
    {"POST", "/v1/admin/models", Access::kAdmin, &LoadAdminModel},
    {"PUT", "/v1/admin/models/default", Access::kAdmin, &SetDefaultModel},
    {"PATCH", "/v1/admin/models/{id...}", Access::kAdmin, &SetModelStay},
    {"DELETE", "/v1/admin/models/{id...}", Access::kAdmin, &UnloadAdminModel},
    {"GET", "/v1/admin/routing", Access::kAdmin, &DescribeRouting},
    {"PUT", "/v1/admin/routing", Access::kAdmin, &SetRouting},
    {"GET", "/v1/admin/cache", Access::kAdmin, &DescribeCaches},
    {"GET", "/v1/admin/pools", Access::kAdmin, &DescribePools},
    {"GET", "/v1/admin/memory", Access::kAdmin, &DescribeMemory},
    {"GET", "/v1/admin/workers", Access::kAdmin, &ListWorkers},
    {"GET", "/v1/admin/workers/{id}/log", Access::kAdmin, &WorkerLog},
    {"POST", "/v1/admin/workers/{id}/drain", Access::kAdmin, &DrainWorker},
    {"POST", "/v1/admin/workers/{id}/restart", Access::kAdmin, &RestartWorker},
    {"GET", "/v1/key", Access::kOpen, &DescribeKey},  // checks the key itself
    // The caller's own sessions.
    {"GET", "/v1/sessions", Access::kGenerate, &Sessions<Action::kList>},
    {"POST", "/v1/sessions/{id}/save", Access::kGenerate, &Sessions<Action::kSave>},
    {"POST", "/v1/sessions/{id}/restore", Access::kGenerate, &Sessions<Action::kRestore>},
    {"DELETE", "/v1/sessions/{id}", Access::kGenerate, &Sessions<Action::kDelete>},
};

}  // namespace

Api AdminApi() { return {.routes = kAdminRoutes}; }

}  // namespace inferflux::server
