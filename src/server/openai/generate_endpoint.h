// What chat and plain completions have in common: prepare off the I/O threads, run, count.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "net/response_writer.h"
#include "server/openai/job.h"
#include "server/request/services.h"

namespace inferflux::server {

using Prepare = ApiResult<Job> (*)(const Services&, const net::Request&, const Caller&);

// `name` labels the metrics.
boost::asio::awaitable<void> Generate(Services& services, const std::string& name, Prepare prepare,
                                      const Caller& caller, const net::Request& request, net::ResponseWriter& writer);

}  // namespace inferflux::server
