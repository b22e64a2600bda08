// GET, POST and DELETE /v1/admin/models, PUT /v1/admin/models/default: lists, loads and unloads models, and sets the
// default, while the server serves.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

// Lists loaded models with their load, models being loaded with their progress, and models that failed to load at the
// start with their errors.
net::Response ListAdminModels(Services& services, const net::Request& request);

net::Response SetDefaultModel(Services& services, const net::Request& request);

// PATCH /v1/admin/models/{id}: pins a loaded model, or changes its keep-alive.
net::Response SetModelStay(Services& services, const net::Request& request);

// Answers when the model serves. With "stream": true, reports progress as server-sent events until then. The load
// continues if the client disconnects.
boost::asio::awaitable<void> LoadAdminModel(Services& services, const net::Request& request,
                                            net::ResponseWriter& writer);

// Drains first: answers when the model's memory is freed. Query: grace_seconds, the time its requests get to finish.
boost::asio::awaitable<void> UnloadAdminModel(Services& services, const net::Request& request,
                                              net::ResponseWriter& writer);

}  // namespace inferflux::server
