// GET, POST and DELETE /v1/admin/models, PUT /v1/admin/models/default: what is loaded, and loading more or less of it
// while the server serves.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

// Loaded models with their load, those being loaded with their progress, and those that failed to load at the start
// with the error.
net::Response ListAdminModels(Services& services, const net::Request& request);

net::Response SetDefaultModel(Services& services, const net::Request& request);

// Answers when the model serves; with "stream": true it tells its progress as server-sent events until then. A client
// that goes away does not end the load.
boost::asio::awaitable<void> LoadAdminModel(Services& services, const net::Request& request,
                                            net::ResponseWriter& writer);

// Drains first: answers when the model's memory is free. Query: grace_seconds, how long its requests may go on.
boost::asio::awaitable<void> UnloadAdminModel(Services& services, const net::Request& request,
                                              net::ResponseWriter& writer);

}  // namespace inferflux::server
