// GET /: the page, one self-contained document. Made at build time by bundle.py; it is there where Debian's JavaScript
// libraries were found.
#pragma once

#include "net/http_message.h"

namespace inferflux::server {

// Whether this build has the page.
bool HasPage();

// The page, gzipped where the client takes that. Its Content-Security-Policy allows the page's own scripts and styles
// only, by their hashes, and connections to this server only.
net::Response Page(const net::Request& request);

}  // namespace inferflux::server
