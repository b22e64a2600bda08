// /v1/files: upload, list, describe, read and delete. Each key has its own files; another key's id is a 404.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> UploadFile(Services& services, const Caller& caller, const net::Request& request,
                                        net::ResponseWriter& writer);
boost::asio::awaitable<void> ListFiles(Services& services, const Caller& caller, const net::Request& request,
                                       net::ResponseWriter& writer);
boost::asio::awaitable<void> GetFile(Services& services, const Caller& caller, const net::Request& request,
                                     net::ResponseWriter& writer);
boost::asio::awaitable<void> DeleteFile(Services& services, const Caller& caller, const net::Request& request,
                                        net::ResponseWriter& writer);
boost::asio::awaitable<void> GetFileContent(Services& services, const Caller& caller, const net::Request& request,
                                            net::ResponseWriter& writer);

}  // namespace inferflux::server
