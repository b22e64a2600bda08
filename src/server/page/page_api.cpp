#include "server/page/page_api.h"

#include "server/page/page_endpoint.h"

namespace inferflux::server {
namespace {

constexpr Route kPageRoutes[] = {{"GET", "/", Access::kOpen, &Page}};

}  // namespace

Api PageApi(const Services& services) {
  if (!services.page || !HasPage()) return {};
  return {.routes = kPageRoutes};
}

}  // namespace inferflux::server
