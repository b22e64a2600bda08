// Answers that are one JSON object about a model: of its tokenizer, its template, its state.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "net/http_message.h"
#include "net/response_writer.h"
#include "server/request/api_error.h"
#include "server/request/services.h"

namespace inferflux::server {

using BodyOf = ApiResult<boost::json::value> (*)(const Services&, const net::Request&);

// In the preparation pool: a huge text must not block the sockets. Loads the model if need be, as a generation does.
boost::asio::awaitable<void> AnswerBody(BodyOf make, Services& services, const Caller& caller,
                                        const net::Request& request, net::ResponseWriter& writer);

}  // namespace inferflux::server
