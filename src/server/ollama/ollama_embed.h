// POST /api/embed, and its predecessor /api/embeddings for one text.
#pragma once

#include <vector>

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/reply/field_rows.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> OllamaEmbed(Services& services, const Caller& caller, const net::Request& request,
                                         net::ResponseWriter& writer);
boost::asio::awaitable<void> OllamaEmbeddings(Services& services, const Caller& caller, const net::Request& request,
                                              net::ResponseWriter& writer);

// Its fields, for the documentation.
std::vector<FieldRow> OllamaEmbedFieldRows();

}  // namespace inferflux::server
