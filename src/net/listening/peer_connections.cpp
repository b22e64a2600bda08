#include "net/listening/peer_connections.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace inferflux::net {
namespace ip = boost::asio::ip;

std::string ClientAddress(const std::string& peer) {
  boost::system::error_code not_one;
  const ip::address address = ip::make_address(peer, not_one);
  if (not_one || address.is_v4()) return peer;
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
  auto bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return ip::address_v6(bytes).to_string() + "/64";
}

}  // namespace inferflux::net
