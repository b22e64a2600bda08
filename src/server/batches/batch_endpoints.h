// /v1/batches: create, list, describe and cancel. Each key has its own batches; another key's id is a 404.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "net/response_writer.h"
#include "server/reply/field_rows.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> CreateBatch(Services& services, const Caller& caller, const net::Request& request,
                                         net::ResponseWriter& writer);
boost::asio::awaitable<void> ListBatches(Services& services, const Caller& caller, const net::Request& request,
                                         net::ResponseWriter& writer);
boost::asio::awaitable<void> GetBatch(Services& services, const Caller& caller, const net::Request& request,
                                      net::ResponseWriter& writer);
boost::asio::awaitable<void> CancelBatch(Services& services, const Caller& caller, const net::Request& request,
                                         net::ResponseWriter& writer);

// The fields of CreateBatch, for the documentation.
std::vector<FieldRow> BatchFieldRows();

}  // namespace inferflux::server
