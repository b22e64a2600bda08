#include "server/page/page_api.h"

#include "server/page/page_endpoint.h"

namespace inferflux::server {
namespace {

net::Response ShowPage(Services& services, const net::Request& request) {
  if (services.page && HasPage()) return Page(request);
  return ErrorResponse(FromStatus(404, services.page ? "this build has no page: its JavaScript libraries were not found"
                                                     : "the page is switched off (server.page)"));
}

constexpr Route kPageRoutes[] = {{"GET", "/", Access::kOpen, &ShowPage}};

}  // namespace

Api PageApi() { return {.routes = kPageRoutes}; }

}  // namespace inferflux::server
