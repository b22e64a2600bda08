// POST /execute: runs one generation and streams its events.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "worker/service/worker_service.h"

namespace inferflux::worker {

// An error as a response: its code's status, and Retry-After where a retry helps.
net::Response RefusalOf(const WireError& error);
net::Response RefusalOf(const FieldErrors& errors);
WireError ErrorOf(WorkerErrorCode code, std::string message);

// The worker may not be ready, or may be draining.
bool TakesRequests(WorkerState state);
net::Response NotServing(WorkerState state);

boost::asio::awaitable<void> Execute(WorkerService& service, const net::Request& request, net::ResponseWriter& writer);

}  // namespace inferflux::worker
