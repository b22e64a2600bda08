#include "server/page/page_endpoint.h"

namespace inferflux::server {

bool HasPage() { return false; }

net::Response Page(Services&, const net::Request&) {
  return net::Response(404, "text/plain; charset=utf-8",
                       "This build has no page: its JavaScript libraries were not found.\n");
}

}  // namespace inferflux::server
