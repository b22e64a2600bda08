// llama-server's GET /health, /props and /slots. `?model=ID` chooses a model other than the default one.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response LlamaHealth(Services& services, const net::Request& request);

// The model's context, template and special tokens, and the defaults of sampling.
net::Response LlamaProps(Services& services, const net::Request& request);

// One entry for each running request: this server has no fixed number of slots.
net::Response LlamaSlots(Services& services, const net::Request& request);

}  // namespace inferflux::server
