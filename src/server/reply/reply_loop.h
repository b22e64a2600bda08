// Runs a job and writes its reply for any API, whole or as a stream. If the client disconnects, its generations are
// cancelled.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/reply/job.h"
#include "server/reply/reply_totals.h"

namespace inferflux::server {

boost::asio::awaitable<Outcome> Reply(Job job, net::ResponseWriter& writer);

}  // namespace inferflux::server
