// Runs a job and writes its reply, whole or as a stream.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "net/response_writer.h"
#include "server/openai/job.h"

namespace inferflux::server {

// What became of a request, for the metrics: "stop", "length", "error", "cancelled" (its client left) or "rejected".
using Outcome = std::string;

boost::asio::awaitable<Outcome> Reply(Job job, net::ResponseWriter& writer);

}  // namespace inferflux::server
