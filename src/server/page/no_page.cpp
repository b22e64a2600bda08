#include "server/page/page_endpoint.h"

namespace inferflux::server {

bool HasPage() { return false; }

net::Response Page(const net::Request&) { return {}; }

}  // namespace inferflux::server
