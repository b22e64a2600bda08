#include "net/client.h"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "net/transport/stream.h"

namespace inferflux::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
using boost::system::error_code;
using Parser = http::response_parser<http::buffer_body>;
using OnPiece = FunctionRef<void(std::string_view)>;

// One exchange. Its state outlives the coroutine that drives it.
struct Exchange {
  const Client& client;
  const ClientRequest& request;
  std::optional<OnPiece> on_piece;
  Stream stream;

  tl::unexpected<Error> Failed(std::string_view doing, const error_code& error) const {
    const ServerAddress& to = client.address();
    return Fail(ErrorCode::kUnavailable, "{} {}:{}: {}", doing, to.host, to.port, error.message());
  }
};

http::request<http::string_body> MakeRequest(const Exchange& exchange) {
  const ServerAddress& to = exchange.client.address();
  http::request<http::string_body> out;
  out.method_string(exchange.request.method);
  out.target(to.base_path + exchange.request.target);
  out.set(http::field::host, to.host + ":" + std::to_string(to.port));
  out.set(http::field::connection, "close");
  for (const Header& header : exchange.request.headers) out.set(header.name, header.value);
  if (!exchange.request.body.empty()) {
    if (out.find(http::field::content_type) == out.end()) out.set(http::field::content_type, "application/json");
    out.body() = exchange.request.body;
    out.prepare_payload();
  }
  return out;
}

asio::awaitable<error_code> Connect(Exchange& exchange) {
  const ServerAddress& to = exchange.client.address();
  asio::ip::tcp::resolver resolver(exchange.stream.get_executor());
  auto [resolve_error, found] = co_await resolver.async_resolve(to.host, std::to_string(to.port), kAwait);
  if (resolve_error) co_return resolve_error;
  exchange.stream.expires_after(exchange.client.connect_timeout);
  error_code last = asio::error::host_not_found;
  for (const auto& each : found) {
    auto [error] = co_await exchange.stream.async_connect(each.endpoint(), kAwait);
    if (!error) co_return co_await exchange.stream.HandshakeWith(to.host);
    last = error;
    exchange.stream.close();
    exchange.stream.expires_after(exchange.client.connect_timeout);
  }
  co_return last;
}

asio::awaitable<Status> ReadBody(Exchange& exchange, beast::flat_buffer& buffer, Parser& parser, ClientResponse& out) {
  std::array<char, 16384> piece;
  const bool streamed = exchange.on_piece && out.status / 100 == 2;
  while (!parser.is_done()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    exchange.stream.expires_after(exchange.client.silence_timeout);
    auto [error, read] = co_await http::async_read_some(exchange.stream, buffer, parser, kAwait);
    if (error && error != http::error::need_buffer) co_return exchange.Failed("reading from", error);
    const std::string_view got(piece.data(), piece.size() - parser.get().body().size);
    if (streamed) {
      if (!got.empty()) (*exchange.on_piece)(got);
    } else if (out.body.size() + got.size() > Client::kMaxBodyBytes) {
      co_return Fail(ErrorCode::kDataLoss, "the server's response is larger than {} bytes", Client::kMaxBodyBytes);
    } else {
      out.body += got;
    }
  }
  co_return Status();
}

asio::awaitable<Result<ClientResponse>> Perform(Exchange& exchange) {
  if (const error_code error = co_await Connect(exchange)) co_return exchange.Failed("cannot connect to", error);
  const auto request = MakeRequest(exchange);
  exchange.stream.expires_after(exchange.client.silence_timeout);
  auto [write_error, written] = co_await http::async_write(exchange.stream, request, kAwait);
  if (write_error) co_return exchange.Failed("writing to", write_error);

  beast::flat_buffer buffer;
  Parser parser;
  parser.body_limit(boost::none);
  if (request.method() == http::verb::head) parser.skip(true);
  auto [read_error, read] = co_await http::async_read_header(exchange.stream, buffer, parser, kAwait);
  if (read_error) co_return exchange.Failed("reading from", read_error);
  ClientResponse out;
  out.status = static_cast<int>(parser.get().result_int());
  for (const auto& field : parser.get()) out.headers.push_back({field.name_string(), field.value()});
  Status body = co_await ReadBody(exchange, buffer, parser, out);
  if (!body) co_return Forward(body);
  co_return out;
}

// Trusts what this system trusts. OpenSSL reads SSL_CERT_FILE and SSL_CERT_DIR.
std::shared_ptr<asio::ssl::context> TrustedCertificates(bool tls) {
  if (!tls) return nullptr;
  auto out = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code ignored;
  out->set_default_verify_paths(ignored);
  return out;
}

Result<ClientResponse> Exchanged(const Client& client, const ClientRequest& request, std::optional<OnPiece> on_piece) {
  asio::io_context io(1);
  Exchange exchange{client, request, on_piece, Stream(Stream::Socket(io), TrustedCertificates(client.address().tls))};
  std::optional<Result<ClientResponse>> result;
  std::exception_ptr thrown;
  asio::co_spawn(io, Perform(exchange), [&](std::exception_ptr error, Result<ClientResponse> value) {
    thrown = error;
    result = std::move(value);
  });
  while (!result) {
    io.run_for(std::chrono::milliseconds(100));
    if (!result && client.should_stop && client.should_stop()) {
      exchange.stream.close();
      io.run();
      return Fail(ErrorCode::kCancelled, "interrupted");
    }
  }
  if (thrown) std::rethrow_exception(thrown);  // only a callback of the caller can throw
  return std::move(*result);
}

}  // namespace

Result<ClientResponse> Client::Send(const ClientRequest& request) const {
  return Exchanged(*this, request, std::nullopt);
}

Result<ClientResponse> Client::Stream(const ClientRequest& request,
                                      FunctionRef<void(std::string_view)> on_piece) const {
  return Exchanged(*this, request, on_piece);
}

}  // namespace inferflux::net
