// llama-server's GET /health, /props and /slots. `?model=ID` chooses a model other than the default one.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/http_message.h"
#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response LlamaHealth(Services& services, const net::Request& request);

// The model's context, template and special tokens, and the defaults of sampling.
boost::asio::awaitable<void> LlamaProps(Services& services, const Caller& caller, const net::Request& request,
                                        net::ResponseWriter& writer);

// One entry for each running request: this server has no fixed number of slots. Does not load a model.
boost::asio::awaitable<void> LlamaSlots(Services& services, const Caller& caller, const net::Request& request,
                                        net::ResponseWriter& writer);

}  // namespace inferflux::server
