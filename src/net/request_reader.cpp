#include "net/request_reader.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "net/listening/body_allowance.h"

namespace inferflux::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
using Parser = http::request_parser<http::buffer_body>;
using boost::system::error_code;

ReadOutcome Refuse(int status, std::string message) {
  ReadOutcome out;
  out.kind = ReadOutcome::Kind::kRefused;
  out.status = status;
  out.message = std::move(message);
  return out;
}

// Errors of the HTTP grammar get an answer. Errors of the socket (closed, too slow) do not, because the client would
// not read it.
ReadOutcome FromError(const error_code& error, const ServerOptions& options) {
  if (error == http::error::body_limit) {
    return Refuse(413, fmt::format("the request body is larger than the limit of {} bytes", options.max_body_bytes));
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Refuse(431,
                  fmt::format("the request's headers are larger than the limit of {} bytes", options.max_header_bytes));
  }
  const bool cut_short = error == http::error::end_of_stream || error == http::error::partial_message;
  if (cut_short || error.category() != http::make_error_code(http::error::bad_method).category()) return {};
  return Refuse(400, "the request is not valid HTTP/1.1: " + error.message());
}

std::optional<ReadOutcome> RefuseHead(const Parser::value_type& head) {
  const auto encoding = head[http::field::transfer_encoding];
  if (!encoding.empty() && head.version() < 11) {  // RFC 9112, section 6.1: the framing cannot be trusted
    return Refuse(400, "Transfer-Encoding needs HTTP/1.1");
  }
  if (!encoding.empty() && !beast::iequals(encoding, "chunked")) {
    return Refuse(501, "Transfer-Encoding: only 'chunked' is served");
  }
  const auto content = head[http::field::content_encoding];
  if (!content.empty() && !beast::iequals(content, "identity")) {
    return Refuse(415, "Content-Encoding: only 'identity' is served; send the body uncompressed");
  }
  if (head.version() >= 11 && head.count(http::field::host) != 1)
    return Refuse(400, "exactly one Host header is needed");
  return std::nullopt;
}

struct BodyRead {
  error_code error;
  std::optional<Response> refusal;  // of the request's own allowance
};

// Reads the body into the request, whose memory grows with the received bytes, not with the announced length.
asio::awaitable<BodyRead> ReadBody(Stream& stream, beast::flat_buffer& buffer, Parser& parser,
                                   const ServerOptions& options, BodyBudget& budget, Request& request) {
  const auto begin = std::chrono::steady_clock::now();
  std::string& body = request.body;
  size_t allowed = parser.content_length().value_or(0);
  std::array<char, 16384> piece;
  if (request.allowance && allowed > 0) {
    if (auto refusal = request.allowance->Take(allowed)) co_return BodyRead{{}, std::move(refusal)};
  }
  while (!parser.is_done()) {
    const std::chrono::seconds earned(body.size() / std::max<size_t>(1, options.min_body_rate));
    stream.expires_at(begin + options.body_timeout + earned);
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    auto [error, read] = co_await http::async_read_some(stream, buffer, parser, kAwait);
    if (error && error != http::error::need_buffer) co_return BodyRead{error, {}};
    const size_t got = piece.size() - parser.get().body().size;
    if (!budget.Take(got)) {
      co_return BodyRead{boost::system::errc::make_error_code(boost::system::errc::not_enough_memory), {}};
    }
    body.append(piece.data(), got);
    if (request.allowance && body.size() > allowed) {
      if (auto refusal = request.allowance->Take(body.size() - allowed)) co_return BodyRead{{}, std::move(refusal)};
      allowed = body.size();
    }
  }
  co_return BodyRead{};
}

ReadOutcome FromHead(const Parser::value_type& head) {
  ReadOutcome out;
  out.kind = ReadOutcome::Kind::kRequest;
  out.request.method = head.method_string();
  out.target = head.target();
  for (const auto& field : head) out.request.headers.push_back({field.name_string(), field.value()});
  out.keep_alive = head.keep_alive();
  out.http11 = head.version() >= 11;
  return out;
}

// RFC 9112, section 2.2: ignore empty lines before the request line. Some clients send one after a body.
void SkipEmptyLines(beast::flat_buffer& buffer) {
  const auto starts_with_line_end = [&] {
    const std::string_view bytes(static_cast<const char*>(buffer.data().data()), buffer.size());
    return bytes.starts_with("\r\n");
  };
  while (starts_with_line_end()) buffer.consume(2);
}

}  // namespace

asio::awaitable<ReadOutcome> ReadRequest(Stream& stream, beast::flat_buffer& buffer, const ServerOptions& options,
                                         BodyBudget& budget, const CheckHead& check) {
  SkipEmptyLines(buffer);
  Parser parser;
  const auto failed = [&](const error_code& error) {
    ReadOutcome out = FromError(error, options);
    out.target = parser.get().target();
    return out;
  };
  parser.header_limit(static_cast<uint32_t>(options.max_header_bytes));
  parser.body_limit(options.max_body_bytes);
  stream.expires_after(options.header_timeout);
  {
    auto [error, read] = co_await http::async_read_header(stream, buffer, parser, kAwait);
    if (error) co_return failed(error);
  }
  if (auto refused = RefuseHead(parser.get())) {
    refused->target = parser.get().target();
    co_return std::move(*refused);
  }
  ReadOutcome out = FromHead(parser.get());
  if (!parser.is_done()) {
    if (auto refusal = check(out.request, out.target)) {
      out.kind = ReadOutcome::Kind::kRefused;
      out.refusal = std::move(refusal);
      co_return out;
    }
  }
  if (beast::iequals(parser.get()[http::field::expect], "100-continue") && !parser.is_done()) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    auto [error, written] = co_await asio::async_write(stream, asio::buffer(kContinue), kAwait);
    if (error) co_return ReadOutcome();
  }
  BodyRead read = co_await ReadBody(stream, buffer, parser, options, budget, out.request);
  if (read.refusal) {
    out.kind = ReadOutcome::Kind::kRefused;
    out.refusal = std::move(read.refusal);
    co_return out;
  }
  const error_code error = read.error;
  if (error == boost::system::errc::not_enough_memory) {
    ReadOutcome refused = Refuse(503, "the server holds too many large requests; try again later");
    refused.target = std::move(out.target);
    co_return refused;
  }
  if (error) co_return failed(error);
  co_return out;
}

}  // namespace inferflux::net
