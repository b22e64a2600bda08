// The query of a list: `?limit=`, `?after=` and `?order=`; and an answer that is made off the I/O threads.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "net/response_writer.h"
#include "server/request/api_error.h"
#include "server/request/services.h"

namespace inferflux::server {

// The parameter of that name; empty if there is none.
std::string QueryText(const net::Request& request, const std::string& name);

struct PageQuery {
  int64_t limit = 0;
  std::string after;
  bool newest_first = true;
};

// 400 for a limit that is not from 1 to `most`, and for an order that is neither "asc" nor "desc".
ApiResult<PageQuery> ReadPageQuery(const net::Request& request, int64_t usual, int64_t most);

// Runs `make` in the preparation pool, because it reads a file or much text, and sends what it returns.
boost::asio::awaitable<void> AnswerInPool(Services& services, const Caller& caller, net::ResponseWriter& writer,
                                          std::function<net::Response()> make);

// 200 with the object, or the error.
net::Response ObjectReply(const ApiResult<boost::json::object>& body);

}  // namespace inferflux::server
