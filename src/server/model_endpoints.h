// GET /v1/models and /v1/models/{id}.
#pragma once

#include <boost/json/object.hpp>

#include "net/http_message.h"
#include "server/services.h"

namespace inferflux::server {

// A loaded model as the API shows it: OpenAI's own fields, and ours beside them.
boost::json::object DescribeServed(const routing::ServedModel& model);

net::Response ListModels(Services& services, const net::Request& request);
net::Response DescribeModel(Services& services, const net::Request& request);

}  // namespace inferflux::server
