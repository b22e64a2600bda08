#include "server/request/failed_login.h"

namespace inferflux::server {

void CountFailedLogin(Services& services, const net::Request& request, bool guessed, net::Response& answer) {
  services.metrics.GetCounter("inferflux_failed_logins_total", "Requests without a valid API key.", {}).Add();
  if (guessed) answer.delay = services.logins.Failed(request.peer);
}

}  // namespace inferflux::server
