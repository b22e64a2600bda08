#include "net/connection.h"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/log.h"

namespace inferflux::net {
namespace asio = boost::asio;
namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr size_t kReadBytes = 4096;
// How much of later requests is read while one is served. Beyond it, the end of the connection is not noticed.
constexpr size_t kMaxPipelinedBytes = 64u << 10;
constexpr std::chrono::seconds kLingerTime{1};
constexpr size_t kMaxRequestId = 128;

// Nothing that could break a header, a log line or a shell command.
bool IsPlainId(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
  return !text.empty() && text.size() <= kMaxRequestId && text.find_first_not_of(kPlain) == std::string_view::npos;
}

}  // namespace

Connection::Connection(Stream::Socket socket, std::string peer, ServerContext& context)
    : stream_(std::move(socket), context.options.tls ? context.options.tls->current() : nullptr),
      buffer_(context.options.max_header_bytes + kMaxPipelinedBytes + kReadBytes),
      context_(context),
      notifier_(std::make_shared<Notifier>(stream_.get_executor())),
      watch_ended_(std::make_shared<Notifier>(stream_.get_executor())),
      peer_(std::move(peer)) {}

asio::awaitable<void> Connection::Run() {
  const auto self = shared_from_this();
  stream_.expires_after(context_.options.header_timeout);
  if (!co_await stream_.Handshake()) {
    log::Debug("{}: the TLS handshake failed", peer_);
    stream_.close();
    co_return;
  }
  while (!draining_ && !gone_) {
    idle_ = true;
    if (buffer_.size() == 0 && !co_await AwaitFirstByte()) break;
    idle_ = false;
    if (!co_await ServeOne()) break;
    served_ = true;
  }
  co_await Close();
}

asio::awaitable<bool> Connection::AwaitFirstByte() {
  stream_.expires_after(served_ ? context_.options.idle_timeout : context_.options.header_timeout);
  auto [error, read] = co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kAwait);
  buffer_.commit(read);
  co_return !error;
}

asio::awaitable<bool> Connection::ServeOne() {
  const auto begin = std::chrono::steady_clock::now();
  BodyBudget budget(context_.buffered_bytes, context_.options.max_buffered_bytes);
  const CheckHead check = [this](Request& head, std::string_view target) {
    head.peer = peer_;
    return Refusal(head, target);
  };
  ReadOutcome outcome = co_await ReadRequest(stream_, buffer_, context_.options, budget, check);
  if (outcome.kind == ReadOutcome::Kind::kClosed) co_return false;
  co_return co_await Answer(outcome, begin);
}

asio::awaitable<bool> Connection::Answer(ReadOutcome& outcome, std::chrono::steady_clock::time_point begin) {
  const bool refused = outcome.kind == ReadOutcome::Kind::kRefused;
  outcome.keep_alive = outcome.keep_alive && !refused && !draining_;
  outcome.request.id = RequestId(outcome.request);
  std::vector<Header> headers;
  if (context_.options.more_headers) headers = context_.options.more_headers(outcome.request);
  const SocketWriter::Wire wire{outcome.http11, outcome.keep_alive, outcome.request.method == "HEAD",
                                outcome.request.id, std::move(headers)};
  SocketWriter writer(stream_, context_.options, notifier_, gone_, wire);
  std::string route;
  if (outcome.refusal) {
    co_await writer.Send(std::move(*outcome.refusal));
  } else if (refused) {
    co_await writer.Send(context_.options.error_response(outcome.status, outcome.message, outcome.target));
  } else {
    co_await Dispatch(outcome, writer, route);
  }
  if (context_.options.on_answered) {
    const std::string_view target = outcome.target;
    const Answered answered{
        .method = outcome.request.method,
        .target = target.substr(0, target.find('?')),
        .route = route,
        .peer = peer_,
        .request_id = outcome.request.id,
        .facts = writer.facts(),
        .status = writer.status(),
        .complete = writer.complete(),
        .duration = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin)};
    context_.options.on_answered(answered);
  }
  co_return writer.complete() && writer.keep_alive();
}

std::string Connection::RequestId(const Request& head) const {
  if (!context_.options.make_request_id) return {};
  const std::string_view given = FindHeader(head.headers, "X-Request-Id");
  return IsPlainId(given) ? std::string(given) : context_.options.make_request_id();
}

std::optional<Response> Connection::Refusal(Request& head, std::string_view target) const {
  const auto parsed = ParseTarget(target);
  if (!parsed) return context_.options.error_response(400, parsed.error().message, target);
  const Router::Match match = context_.router.Find(head.method, parsed->segments);
  if (match.handler == nullptr) return Unrouted(match, head.method, parsed->path);
  return match.check == nullptr || !*match.check ? std::nullopt : (*match.check)(head);
}

Response Connection::Unrouted(const Router::Match& match, const std::string& method, const std::string& path) const {
  if (match.allow.empty()) return context_.options.error_response(404, "no such path: " + path, path);
  Response out =
      context_.options.error_response(405, method + " is not served at " + path + "; use " + match.allow, path);
  out.headers.push_back({"Allow", match.allow});
  return out;
}

asio::awaitable<void> Connection::Dispatch(ReadOutcome& outcome, SocketWriter& writer, std::string& route) {
  auto target = ParseTarget(outcome.target);
  if (!target) {
    co_await writer.Send(context_.options.error_response(400, target.error().message, outcome.target));
    co_return;
  }
  Request& request = outcome.request;
  Router::Match match = context_.router.Find(request.method, target->segments);
  route = match.pattern;
  if (match.handler == nullptr) {
    co_await writer.Send(Unrouted(match, request.method, target->path));
    co_return;
  }
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  request.parameters = std::move(match.parameters);
  request.peer = peer_;
  co_await CallHandler(*match.handler, request, writer);
}

asio::awaitable<void> Connection::CallHandler(const Handler& handler, const Request& request, SocketWriter& writer) {
  StartWatch();
  try {
    co_await handler(request, writer);
  } catch (const std::exception& error) {
    log::Error("{} {}: {}", request.method, request.path, error.what());
  }
  co_await StopWatch();
  if (writer.status() == 0 && !gone_) {
    co_await writer.Send(
        context_.options.error_response(500, "internal error; the server's log has more", request.path));
  }
}

void Connection::StartWatch() {
  watching_ = true;
  stream_.expires_never();
  asio::co_spawn(stream_.get_executor(), Watch(),
                 asio::bind_cancellation_slot(stop_watch_.slot(), [self = shared_from_this()](std::exception_ptr) {
                   self->watching_ = false;
                   self->watch_ended_->Notify();
                 }));
}

asio::awaitable<void> Connection::StopWatch() {
  while (watching_) {
    stop_watch_.emit(asio::cancellation_type::terminal);
    co_await watch_ended_->Wait();
  }
}

// A read is pending while a handler works: it fails when the client disconnects. Any bytes that arrive belong to the
// next request.
asio::awaitable<void> Connection::Watch() {
  while (buffer_.size() < kMaxPipelinedBytes) {
    auto [error, read] = co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kAwait);
    buffer_.commit(read);
    if (!error) continue;
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() == asio::cancellation_type::none) {
      gone_ = true;
      notifier_->Notify();
    }
    break;
  }
}

void Connection::Drain() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    self->draining_ = true;
    if (self->idle_) self->stream_.close();
  });
}

void Connection::Abort() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    self->draining_ = true;
    self->gone_ = true;
    self->notifier_->Notify();
    self->stream_.close();
  });
}

// Closing with unread input would reset the connection and might lose the last response. So read and drop what the
// client still sends, for a moment.
asio::awaitable<void> Connection::Close() {
  if (!gone_) {
    stream_.expires_after(kLingerTime);
    co_await stream_.ShutDown();
    std::array<char, 16384> dropped;
    for (;;) {
      auto [error, read] = co_await stream_.async_drop_some(asio::buffer(dropped), kAwait);
      if (error) break;
    }
  }
  stream_.close();
}

}  // namespace inferflux::net
