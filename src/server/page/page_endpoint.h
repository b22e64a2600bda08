// GET /: the page, one self-contained document. bundle.py makes it at build time if it finds Debian's JavaScript
// libraries.
#pragma once

#include "net/http_message.h"

namespace inferflux::server {

// Whether this build has the page.
bool HasPage();

// The page, gzipped if the client accepts that. Its Content-Security-Policy allows only the page's own scripts and
// styles, by their hashes, and only connections to this server.
net::Response Page(const net::Request& request);

}  // namespace inferflux::server
