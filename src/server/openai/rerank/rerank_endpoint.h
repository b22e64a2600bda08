// POST /rerank, /v1/rerank and /v2/rerank, /score and /classify.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> Rerank(Services& services, const Caller& caller, const net::Request& request,
                                    net::ResponseWriter& writer);
// Cohere's version 2: documents are cut to 4,096 tokens, and to what fits, and the reply does not repeat them.
boost::asio::awaitable<void> RerankCohere(Services& services, const Caller& caller, const net::Request& request,
                                          net::ResponseWriter& writer);
boost::asio::awaitable<void> ScorePairs(Services& services, const Caller& caller, const net::Request& request,
                                        net::ResponseWriter& writer);
boost::asio::awaitable<void> Classify(Services& services, const Caller& caller, const net::Request& request,
                                      net::ResponseWriter& writer);

}  // namespace inferflux::server
