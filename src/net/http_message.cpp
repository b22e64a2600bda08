#include "net/http_message.h"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>

namespace inferflux::net {

std::string_view FindHeader(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (boost::beast::iequals(header.name, name)) return header.value;
  }
  return {};
}

std::string_view ReasonPhrase(int status) {
  return boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(status)));
}

}  // namespace inferflux::net
