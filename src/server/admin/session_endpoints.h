// /v1/sessions: conversations with saved KV.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "scheduler/generation_service.h"
#include "server/request/services.h"

namespace inferflux::server {

// Lists, saves, restores or deletes the caller's own sessions of the model that `model` in the query names.
boost::asio::awaitable<void> RunSessionCommand(Services& services, scheduler::SessionCommand::Action action,
                                               const Caller& caller, const net::Request& request,
                                               net::ResponseWriter& writer);

}  // namespace inferflux::server
