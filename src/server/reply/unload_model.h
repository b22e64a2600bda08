// Unloads a model without blocking a thread that serves requests.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>

#include "server/request/services.h"

namespace inferflux::server {

// As ModelPool::Unload, which waits up to `grace` for the model's users.
boost::asio::awaitable<Status> UnloadModel(Services& services, std::string id, std::chrono::seconds grace);

}  // namespace inferflux::server
