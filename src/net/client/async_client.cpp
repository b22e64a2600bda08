#include "net/client/async_client.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <optional>
#include <string_view>
#include <utility>

namespace inferflux::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

constexpr size_t kReadBytes = 4096;
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr size_t kPieceBytes = 16384;

tl::unexpected<Error> Failed(const ServerAddress& to, std::string_view doing, const boost::system::error_code& error) {
  return Fail(ErrorCode::kUnavailable, "{} {}:{}: {}", doing, to.host, to.port, error.message());
}

std::string TextOf(const ServerAddress& to, const ClientRequest& request) {
  std::string out = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}:{}\r\n", request.method, to.base_path, request.target,
                                to.host, to.port);
  for (const Header& header : request.headers) out += fmt::format("{}: {}\r\n", header.name, header.value);
  if (!request.body.empty()) out += "Content-Type: application/json\r\n";
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    out += fmt::format("Content-Length: {}\r\n", request.body.size());
  }
  return out + "\r\n" + request.body;
}

}  // namespace

struct Exchange::State {
  std::unique_ptr<beast::tcp_stream> stream;
  beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  std::vector<Header> headers;
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
    state_->stream->expires_after(client_->options_.silence_timeout);
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
                                                                               const SentRequest& request,
                                                                               size_t written) {
  auto state = std::make_unique<Exchange::State>();
  state->stream = std::move(stream);
  state->parser.body_limit(boost::none);
  if (request.head_only) state->parser.skip(true);
  state->stream->expires_after(options_.silence_timeout);
  if (written < request.text.size()) {
    const auto rest = asio::buffer(request.text) + written;
    auto [write_error, more] = co_await asio::async_write(*state->stream, rest, kAsTuple);
    if (write_error) co_return Failed(address_, "writing to", write_error);
  }
  state->buffer.reserve(kReadBytes);  // Beast begins with 512 bytes a read
  auto [error, read] = co_await http::async_read_header(*state->stream, state->buffer, state->parser, kAsTuple);
  if (error) co_return Failed(address_, "reading from", error);
  for (const auto& field : state->parser.get()) state->headers.push_back({field.name_string(), field.value()});
  co_return state;
}

// The request, and the connection that it may have.
std::unique_ptr<SentRequest> AsyncClient::Prepare(const ClientRequest& request) {
  auto out = std::make_unique<SentRequest>();
  out->text = TextOf(address_, request);
  out->head_only = request.method == "HEAD";
  const std::lock_guard lock(mutex_);
  if (kept_.empty()) return out;
  out->stream = std::move(kept_.back());
  kept_.pop_back();
  return out;
}

std::unique_ptr<SentRequest> AsyncClient::SendNow(const ClientRequest& request) {
  auto out = Prepare(request);
  if (!out->stream) return out;
  // What fails here, as where the server has closed the connection, fails again in Resume, which knows what to do.
  boost::system::error_code error;
  auto& socket = out->stream->socket();
  socket.non_blocking(true, error);
  if (!error) out->written = socket.write_some(asio::buffer(out->text), error);
  return out;
}

asio::awaitable<Result<std::unique_ptr<Exchange>>> AsyncClient::Start(ClientRequest request) {
  return Resume(Prepare(request));
}

asio::awaitable<Result<std::unique_ptr<Exchange>>> AsyncClient::Resume(std::unique_ptr<SentRequest> sent) {
  const auto self = shared_from_this();
  if (sent->stream) {
    auto state = co_await Perform(std::move(sent->stream), *sent, sent->written);
    if (state) co_return std::make_unique<Exchange>(self, std::move(*state));
    CloseKept();  // the others are as old, or older
  }
  auto stream = co_await Connect();
  if (!stream) co_return Forward(stream);
  auto state = co_await Perform(std::move(*stream), *sent, 0);
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

size_t AsyncClient::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

void AsyncClient::CloseKept() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
}

void AsyncClient::Keep(std::unique_ptr<Stream> stream) {
  const std::lock_guard lock(mutex_);
  if (kept_.size() < options_.max_kept) kept_.push_back(std::move(stream));
}

}  // namespace inferflux::net
