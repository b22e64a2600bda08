// Stored responses: what is kept of them, and GET, DELETE, cancel and the list of input items.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "net/response_writer.h"
#include "server/reply/event_log.h"
#include "server/request/services.h"

namespace inferflux::server {

// `history`: the items that the response continued, with its input; its output is added. A response that cannot be
// stored is logged and lost.
void KeepResponse(ObjectStore& objects, const std::string& owner, const boost::json::object& response,
                  const boost::json::array& input, const boost::json::array& history);

// Keeps the events of a response in the background, if it is still stored.
void KeepEvents(ObjectStore& objects, const std::string& owner, const std::string& id, const EventLog& log);

// The items up to and with a response's output. 404 if the caller has no such response.
ApiResult<boost::json::array> HistoryOfResponse(ObjectStore& objects, const Caller& caller, std::string_view id);

// The same for a conversation.
ApiResult<boost::json::array> ItemsOfConversation(ObjectStore& objects, const Caller& caller, std::string_view id);
void AppendToConversation(ObjectStore& objects, const std::string& owner, std::string_view id,
                          const boost::json::array& items);

boost::asio::awaitable<void> GetResponse(Services& services, const Caller& caller, const net::Request& request,
                                         net::ResponseWriter& writer);
boost::asio::awaitable<void> DeleteResponse(Services& services, const Caller& caller, const net::Request& request,
                                            net::ResponseWriter& writer);
boost::asio::awaitable<void> CancelResponse(Services& services, const Caller& caller, const net::Request& request,
                                            net::ResponseWriter& writer);
boost::asio::awaitable<void> ListInputItems(Services& services, const Caller& caller, const net::Request& request,
                                            net::ResponseWriter& writer);

// One page of items: `?limit=`, `?after=` and `?order=` (desc by default).
ApiResult<boost::json::object> PageOfItems(const boost::json::array& items, const net::Request& request);

}  // namespace inferflux::server
