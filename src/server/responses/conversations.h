// /v1/conversations: items that are kept, and that responses continue and extend.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> CreateConversation(Services& services, const Caller& caller, const net::Request& request,
                                                net::ResponseWriter& writer);
boost::asio::awaitable<void> GetConversation(Services& services, const Caller& caller, const net::Request& request,
                                             net::ResponseWriter& writer);
boost::asio::awaitable<void> UpdateConversation(Services& services, const Caller& caller, const net::Request& request,
                                                net::ResponseWriter& writer);
boost::asio::awaitable<void> DeleteConversation(Services& services, const Caller& caller, const net::Request& request,
                                                net::ResponseWriter& writer);
boost::asio::awaitable<void> ListConversationItems(Services& services, const Caller& caller,
                                                   const net::Request& request, net::ResponseWriter& writer);
boost::asio::awaitable<void> AddConversationItems(Services& services, const Caller& caller, const net::Request& request,
                                                  net::ResponseWriter& writer);
boost::asio::awaitable<void> GetConversationItem(Services& services, const Caller& caller, const net::Request& request,
                                                 net::ResponseWriter& writer);
boost::asio::awaitable<void> DeleteConversationItem(Services& services, const Caller& caller,
                                                    const net::Request& request, net::ResponseWriter& writer);

}  // namespace inferflux::server
