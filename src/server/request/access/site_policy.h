// Which web sites' pages may use this server. A browser that runs on the machine reaches the loopback address, and a
// page of any site can tell it to:
// - by a name of its own that it makes resolve to this machine (DNS rebinding): the Host header has that name;
// - by a plain POST across sites, whose answer it cannot read, but which costs a generation: Origin has the site.
// A key is proof enough, because a page of another site does not know it. Without keys both headers decide.
// CORS is the Fetch standard's (https://fetch.spec.whatwg.org/#http-cors-protocol).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_message.h"
#include "server/request/api_error.h"

namespace inferflux::server {

class SitePolicy {
 public:
  // No site but this server's own page, under the names of this machine.
  SitePolicy() = default;

  // `hosts`: names beyond loopback's that a Host header may have, without port; "*": any. `origins`: sites whose pages
  // may use the server, as "https://chat.example.com" or "http://localhost:3000"; "*": any. Both are lists with commas,
  // and may be empty. kInvalidArgument if an entry is not a name, or not an origin.
  static Result<SitePolicy> Parse(std::string_view hosts, std::string_view origins);

  // 403 if the name by which the client calls this server is not one of its own. With keys the header is checked only
  // where a list of hosts is configured. An IP address is always a name of its own: DNS does not lead there.
  ApiStatus CheckHost(const net::Request& request, bool keys_required) const;

  // Whether `request` comes from a page of another site that is not allowed.
  bool IsForeign(const net::Request& request, bool keys_required) const;

  // 403 if it does.
  ApiStatus CheckOrigin(const net::Request& request, bool keys_required) const;

  // What lets a page of an allowed site read the answer. For other requests only Vary, where sites are configured.
  std::vector<net::Header> AnswerHeaders(const net::Request& request) const;

  // The answer to a preflight request (OPTIONS with Access-Control-Request-Method), and to any other OPTIONS.
  ApiResult<net::Response> Preflight(const net::Request& request) const;

 private:
  bool AllowsHost(std::string_view name) const;
  bool AllowsOrigin(std::string_view origin) const;

  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
};

}  // namespace inferflux::server
