#include "net/transport/stream.h"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>

namespace inferflux::net {
namespace asio = boost::asio;
namespace {

constexpr auto kTupleAwait = asio::as_tuple(asio::use_awaitable);

}  // namespace

asio::awaitable<bool> Stream::Handshake() {
  if (!tls_) co_return true;
  auto [error] = co_await tls_->async_handshake(asio::ssl::stream_base::server, kTupleAwait);
  co_return !error;
}

asio::awaitable<boost::system::error_code> Stream::HandshakeWith(std::string host) {
  if (!tls_) co_return boost::system::error_code();
  tls_->set_verify_mode(asio::ssl::verify_peer);
  tls_->set_verify_callback(asio::ssl::host_name_verification(host));
  boost::system::error_code not_an_address;
  asio::ip::make_address(host, not_an_address);
  if (not_an_address) SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
  auto [error] = co_await tls_->async_handshake(asio::ssl::stream_base::client, kTupleAwait);
  co_return error;
}

asio::awaitable<void> Stream::ShutDown() {
  if (tls_) co_await tls_->async_shutdown(kTupleAwait);
  boost::system::error_code ignored;
  plain_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
}

}  // namespace inferflux::net
