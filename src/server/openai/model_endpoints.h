// GET /v1/models and /v1/models/{id}. The paths of models are for callers with the scope admin.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> ListModels(Services& services, const Caller& caller, const net::Request& request,
                                        net::ResponseWriter& writer);
boost::asio::awaitable<void> DescribeModel(Services& services, const Caller& caller, const net::Request& request,
                                           net::ResponseWriter& writer);

}  // namespace inferflux::server
