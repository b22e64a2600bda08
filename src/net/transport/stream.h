// A connection's bytes: over TCP or a Unix socket, plain or in TLS, as one type that Asio and Beast can read and write.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace inferflux::net {

class Stream {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Plain = boost::beast::basic_stream<boost::asio::generic::stream_protocol>;
  using executor_type = Plain::executor_type;

  // With `tls` the bytes are encrypted; Handshake comes first then.
  Stream(Socket socket, std::shared_ptr<boost::asio::ssl::context> tls)
      : plain_(std::move(socket)), context_(std::move(tls)) {
    if (context_) tls_.emplace(plain_, *context_);
  }

  executor_type get_executor() { return plain_.get_executor(); }
  auto& socket() { return plain_.socket(); }

  // Every later operation fails once that time is over.
  void expires_after(std::chrono::milliseconds time) { plain_.expires_after(time); }
  void expires_at(std::chrono::steady_clock::time_point time) { plain_.expires_at(time); }
  void expires_never() { plain_.expires_never(); }
  void close() { plain_.close(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_read_some(buffers, std::forward<Token>(token))
                : plain_.async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_write_some(buffers, std::forward<Token>(token))
                : plain_.async_write_some(buffers, std::forward<Token>(token));
  }

  // The bytes as they are on the wire, for reading and dropping what a client still sends after ShutDown.
  template <class Buffers, class Token>
  auto async_drop_some(const Buffers& buffers, Token&& token) {
    return plain_.async_read_some(buffers, std::forward<Token>(token));
  }

  template <class Token>
  auto async_connect(const boost::asio::generic::stream_protocol::endpoint& endpoint, Token&& token) {
    return plain_.async_connect(endpoint, std::forward<Token>(token));
  }

  // A server's. False if the client speaks no TLS that this server takes. True for a plain connection.
  boost::asio::awaitable<bool> Handshake();
  // A client's, with a server of this name, which its certificate must have. Nothing happens on a plain connection.
  boost::asio::awaitable<boost::system::error_code> HandshakeWith(std::string host);
  // Tells the client that no more bytes come.
  boost::asio::awaitable<void> ShutDown();

 private:
  Plain plain_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<Plain&>> tls_;
};

}  // namespace inferflux::net
