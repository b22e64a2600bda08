// An endpoint of any API that generates: prepares, off the I/O threads unless the request is small; runs; counts.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>

#include "net/response_writer.h"
#include "server/reply/job.h"
#include "server/request/services.h"

namespace inferflux::server {

struct GeneratingEndpoint {
  std::string_view name;  // label in the metrics
  ApiResult<Job> (*prepare)(const Services&, const net::Request&, const Caller&);
  net::Response (*refuse)(const ApiError&);  // the response if preparation fails
};

boost::asio::awaitable<void> Generate(GeneratingEndpoint endpoint, Services& services, const Caller& caller,
                                      const net::Request& request, net::ResponseWriter& writer);

}  // namespace inferflux::server
