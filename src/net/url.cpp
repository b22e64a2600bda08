#include "net/url.h"

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <system_error>

namespace inferflux::net {

Result<ServerAddress> ParseServerAddress(std::string_view url) {
  std::string text(url);
  if (text.find("://") == std::string::npos) text.insert(0, "http://");
  const auto parsed = boost::urls::parse_uri(text);
  if (!parsed || parsed->host().empty()) {
    return Fail(ErrorCode::kInvalidArgument, "'{}' is not a server's address; write http://HOST:PORT", url);
  }
  const auto scheme = parsed->scheme_id();
  if (scheme != boost::urls::scheme::http && scheme != boost::urls::scheme::https) {
    return Fail(ErrorCode::kUnsupported, "'{}': only http:// and https:// are supported", url);
  }
  ServerAddress out;
  out.tls = scheme == boost::urls::scheme::https;
  if (out.tls) out.port = 443;
  out.host = parsed->host_address();
  if (parsed->has_port() && !parsed->port().empty()) {
    const std::string_view digits = parsed->port();  // port_number() wraps around
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
    if (error != std::errc() || out.port == 0) {
      return Fail(ErrorCode::kInvalidArgument, "'{}': the port must be 1 to 65535", url);
    }
  }
  out.base_path = parsed->path();
  while (out.base_path.ends_with('/')) out.base_path.pop_back();
  return out;
}

Result<ServerAddress> ParsePlainAddress(std::string_view url) {
  auto out = ParseServerAddress(url);
  if (out && out->tls) {
    return Fail(ErrorCode::kUnsupported, "'{}': only http:// is supported; put a TLS proxy in between", url);
  }
  return out;
}

}  // namespace inferflux::net
