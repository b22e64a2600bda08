#include "net/client/async_client.h"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <string_view>
#include <utility>

namespace inferflux::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr size_t kPieceBytes = 16384;

tl::unexpected<Error> Failed(const ServerAddress& to, std::string_view doing, const boost::system::error_code& error) {
  return Fail(ErrorCode::kUnavailable, "{} {}:{}: {}", doing, to.host, to.port, error.message());
}

http::request<http::string_body> MessageOf(const ServerAddress& to, const ClientRequest& request) {
  http::request<http::string_body> out;
  out.method_string(request.method);
  out.target(to.base_path + request.target);
  out.set(http::field::host, to.host + ":" + std::to_string(to.port));
  for (const Header& header : request.headers) out.set(header.name, header.value);
  if (!request.body.empty()) {
    out.set(http::field::content_type, "application/json");
    out.body() = request.body;
  }
  out.prepare_payload();
  return out;
}

}  // namespace

struct Exchange::State {
  std::unique_ptr<beast::tcp_stream> stream;
  beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  std::vector<Header> headers;
  std::optional<std::chrono::steady_clock::time_point> expiry;
};

Exchange::Exchange(std::shared_ptr<AsyncClient> client, std::unique_ptr<State> state)
    : client_(std::move(client)), state_(std::move(state)) {}

Exchange::~Exchange() {
  const bool reusable =
      state_->stream && state_->parser.is_done() && state_->parser.keep_alive() && state_->buffer.size() == 0;
  if (reusable) client_->Keep(std::move(state_->stream));
}

int Exchange::status() const { return static_cast<int>(state_->parser.get().result_int()); }
const std::vector<Header>& Exchange::headers() const { return state_->headers; }

asio::awaitable<Result<std::string>> Exchange::Read() {
  std::array<char, kPieceBytes> piece;
  while (!state_->parser.is_done()) {
    auto& body = state_->parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    if (state_->expiry) {
      state_->stream->expires_at(*state_->expiry);
    } else {
      state_->stream->expires_after(client_->options_.silence_timeout);
    }
    auto [error, read] = co_await http::async_read_some(*state_->stream, state_->buffer, state_->parser, kAsTuple);
    if (error && error != http::error::need_buffer) co_return Failed(client_->address_, "reading from", error);
    const size_t got = piece.size() - state_->parser.get().body().size;
    if (got > 0) co_return std::string(piece.data(), got);
  }
  co_return std::string();
}

asio::awaitable<Result<std::string>> Exchange::ReadAll() {
  std::string out;
  for (;;) {
    auto piece = co_await Read();
    if (!piece) co_return Forward(piece);
    if (piece->empty()) co_return out;
    if (out.size() + piece->size() > Client::kMaxBodyBytes) {
      Close();
      co_return Fail(ErrorCode::kDataLoss, "the server's response is larger than {} bytes", Client::kMaxBodyBytes);
    }
    out += *piece;
  }
}

void Exchange::Expire(std::chrono::milliseconds in) {
  state_->expiry = std::chrono::steady_clock::now() + in;
  if (state_->stream) state_->stream->expires_at(*state_->expiry);
}

void Exchange::Close() {
  if (state_->stream) state_->stream->close();
}

AsyncClient::AsyncClient(asio::io_context& io, ServerAddress address, AsyncClientOptions options)
    : io_(io), address_(std::move(address)), options_(options) {}

asio::awaitable<Result<std::unique_ptr<AsyncClient::Stream>>> AsyncClient::Connect() {
  auto stream = std::make_unique<Stream>(io_);
  asio::ip::tcp::resolver resolver(io_);
  auto [unresolved, found] = co_await resolver.async_resolve(address_.host, std::to_string(address_.port), kAsTuple);
  if (unresolved) co_return Failed(address_, "cannot resolve", unresolved);
  stream->expires_after(options_.connect_timeout);
  auto [error, endpoint] = co_await stream->async_connect(found, kAsTuple);
  if (error) co_return Failed(address_, "cannot connect to", error);
  boost::system::error_code ignored;
  stream->socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  co_return stream;
}

asio::awaitable<Result<std::unique_ptr<Exchange::State>>> AsyncClient::Perform(std::unique_ptr<Stream> stream,
                                                                               const ClientRequest& request) {
  auto state = std::make_unique<Exchange::State>();
  state->stream = std::move(stream);
  state->parser.body_limit(boost::none);
  if (request.method == "HEAD") state->parser.skip(true);
  const auto message = MessageOf(address_, request);
  state->stream->expires_after(options_.silence_timeout);
  auto [write_error, written] = co_await http::async_write(*state->stream, message, kAsTuple);
  if (write_error) co_return Failed(address_, "writing to", write_error);
  auto [error, read] = co_await http::async_read_header(*state->stream, state->buffer, state->parser, kAsTuple);
  if (error) co_return Failed(address_, "reading from", error);
  for (const auto& field : state->parser.get()) state->headers.push_back({field.name_string(), field.value()});
  co_return state;
}

asio::awaitable<Result<std::unique_ptr<Exchange>>> AsyncClient::Start(ClientRequest request) {
  const auto self = shared_from_this();
  if (!kept_.empty()) {
    auto stream = std::move(kept_.back());
    kept_.pop_back();
    auto state = co_await Perform(std::move(stream), request);
    if (state) co_return std::make_unique<Exchange>(self, std::move(*state));
    CloseKept();  // the others are as old, or older
  }
  auto stream = co_await Connect();
  if (!stream) co_return Forward(stream);
  auto state = co_await Perform(std::move(*stream), request);
  if (!state) co_return Forward(state);
  co_return std::make_unique<Exchange>(self, std::move(*state));
}

asio::awaitable<Result<ClientResponse>> AsyncClient::Send(ClientRequest request) {
  auto exchange = co_await Start(std::move(request));
  if (!exchange) co_return Forward(exchange);
  auto body = co_await (*exchange)->ReadAll();
  if (!body) co_return Forward(body);
  co_return ClientResponse{(*exchange)->status(), (*exchange)->headers(), std::move(*body)};
}

void AsyncClient::CloseKept() { kept_.clear(); }

void AsyncClient::Keep(std::unique_ptr<Stream> stream) {
  if (kept_.size() < options_.max_kept) kept_.push_back(std::move(stream));
}

}  // namespace inferflux::net
