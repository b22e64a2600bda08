#include "net/socket_writer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_suffix.hpp>
#include <ctime>
#include <utility>

namespace inferflux::net {
namespace asio = boost::asio;

SocketWriter::SocketWriter(Stream& stream, const ServerOptions& options, const std::shared_ptr<Notifier>& notifier,
                           bool& gone, Wire wire)
    : stream_(stream), options_(options), notifier_(notifier), gone_(gone), wire_(std::move(wire)) {}

// `length` is the header that marks the end of the body; empty if closing the connection marks it.
std::string SocketWriter::Head(const Response& response, std::string_view length) const {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\n{}Connection: {}\r\n",
                                response.status, ReasonPhrase(response.status), fmt::gmtime(std::time(nullptr)), length,
                                wire_.keep_alive ? "keep-alive" : "close");
  if (!wire_.request_id.empty()) out += fmt::format("X-Request-Id: {}\r\n", wire_.request_id);
  if (!response.content_type.empty()) out += fmt::format("Content-Type: {}\r\n", response.content_type);
  for (const Header& header : wire_.headers) out += fmt::format("{}: {}\r\n", header.name, header.value);
  for (const Header& header : response.headers) out += fmt::format("{}: {}\r\n", header.name, header.value);
  return out + "\r\n";
}

asio::awaitable<bool> SocketWriter::Put(std::string head, std::string body) {
  if (gone_) co_return false;
  const std::array<asio::const_buffer, 2> both = {asio::buffer(head), asio::buffer(body)};
  boost::beast::buffers_suffix<std::array<asio::const_buffer, 2>> rest(both);
  // The time-out counts from one write to the next: a client that reads slowly, but reads, gets all of a large answer.
  while (boost::beast::buffer_bytes(rest) > 0) {
    stream_.expires_after(options_.write_timeout);
    auto [error, written] = co_await stream_.async_write_some(rest, asio::as_tuple(asio::use_awaitable));
    if (error) {
      gone_ = true;
      co_return false;
    }
    rest.consume(written);
  }
  co_return true;
}

asio::awaitable<void> SocketWriter::Wait(std::chrono::milliseconds time) {
  asio::steady_timer timer(stream_.get_executor(), time);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<void> SocketWriter::Send(Response response) {
  if (response.delay.count() > 0) co_await Wait(response.delay);
  status_ = response.status;
  if (!response.reason.empty()) Note({"reason", std::move(response.reason)});
  std::string head = Head(response, fmt::format("Content-Length: {}\r\n", response.body.size()));
  if (wire_.head_only) response.body.clear();
  complete_ = co_await Put(std::move(head), std::move(response.body));
}

// Makes a piece a chunk, and returns what comes before it.
std::string SocketWriter::Chunk(std::string& piece) const {
  if (wire_.head_only) piece.clear();
  if (piece.empty() || !wire_.http11) return {};
  std::string size = fmt::format("{:x}\r\n", piece.size());
  piece += "\r\n";
  return size;
}

asio::awaitable<bool> SocketWriter::Begin(Response head) {
  status_ = head.status;
  if (!wire_.http11) wire_.keep_alive = false;  // only the end of the connection marks the end of the body
  std::string text = Head(head, wire_.http11 ? "Transfer-Encoding: chunked\r\n" : "");
  std::string piece = std::move(head.body);
  text += Chunk(piece);
  co_return co_await Put(std::move(text), std::move(piece));
}

asio::awaitable<bool> SocketWriter::Write(std::string piece) {
  if (piece.empty() || wire_.head_only) co_return !gone_;
  std::string size = Chunk(piece);
  co_return co_await Put(std::move(size), std::move(piece));
}

asio::awaitable<bool> SocketWriter::End(std::string piece) {
  std::string size = Chunk(piece);
  if (wire_.http11 && !wire_.head_only) piece += "0\r\n\r\n";
  complete_ = co_await Put(std::move(size), std::move(piece));
  co_return complete_;
}

}  // namespace inferflux::net
