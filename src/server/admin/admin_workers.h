// GET /v1/admin/workers and what is done to one of them. 404 unless this server runs its models in workers.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response ListWorkers(Services& services, const net::Request& request);
// The last lines of its log.
net::Response WorkerLog(Services& services, const net::Request& request);
// Ends it when its requests have ended; it stays ended until it is restarted.
net::Response DrainWorker(Services& services, const net::Request& request);
// The same, and starts it again; a circuit that is open closes.
net::Response RestartWorker(Services& services, const net::Request& request);

}  // namespace inferflux::server
