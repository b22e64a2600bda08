#include "net/server.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "net/connection.h"

namespace inferflux::net {
namespace asio = boost::asio;
using asio::ip::tcp;
namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// How long a client's machine may stay silent with data in flight before the connection counts as dead.
constexpr int kUserTimeoutMs = 30'000;

void SetSocketOptions(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
#ifdef TCP_USER_TIMEOUT
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof kUserTimeoutMs);
#endif
}

// Also for an IPv4 address in the form of an IPv6 address: ::ffff:127.0.0.1.
bool IsLoopback(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).is_loopback();
  return address.is_loopback();
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, Router router) : acceptor_(asio::make_strand(io_)) {
    context_.options = std::move(options);
    context_.router = std::move(router);
  }
  ~Impl() { Stop(std::chrono::milliseconds(0)); }

  Status Listen() {
    const ServerOptions& options = context_.options;
    boost::system::error_code error;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
    if (error || found.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "cannot resolve the host '{}': {}", options.host, error.message());
    }
    const tcp::endpoint endpoint = found.begin()->endpoint();
    if (options.check_address) {
      const asio::ip::address address = endpoint.address();
      if (Status allowed = options.check_address(address.to_string(), IsLoopback(address)); !allowed)
        return Forward(allowed);
    }
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return Fail(ErrorCode::kIo, "cannot listen on {}:{}: {}", options.host, options.port, error.message());
    }
    port_ = acceptor_.local_endpoint(error).port();
    return {};
  }

  void Run() {
    asio::co_spawn(acceptor_.get_executor(), Accept(), asio::detached);
    const int count = std::max(1, context_.options.io_threads);
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { io_.run(); });
  }

  uint16_t port() const { return port_; }
  size_t connections() const {
    std::lock_guard lock(mutex_);
    return connections_.size();
  }

  void Stop(std::chrono::milliseconds grace) {
    if (stopped_.exchange(true)) return;
    asio::post(acceptor_.get_executor(), [this] { CloseAcceptor(); });
    ForEach([](Connection& connection) { connection.Drain(); });
    if (!WaitUntilEmpty(grace)) {
      ForEach([](Connection& connection) { connection.Abort(); });
      if (!threads_.empty() && !WaitUntilEmpty(context_.options.abort_time)) {
        log::Error("{} requests did not end", connections());
      }
    }
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    CloseAcceptor();  // in case the threads ended before they reached it
  }

 private:
  void CloseAcceptor() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }

  asio::awaitable<void> Accept() {
    while (acceptor_.is_open()) {
      auto [error, socket] = co_await acceptor_.async_accept(asio::any_io_executor(asio::make_strand(io_)), kAwait);
      if (error == asio::error::operation_aborted || !acceptor_.is_open()) break;
      if (error) {  // usually out of file descriptors; connections that end release some
        log::Warning("accepting a connection: {}", error.message());
        asio::steady_timer pause(acceptor_.get_executor(), std::chrono::milliseconds(100));
        co_await pause.async_wait(kAwait);
        continue;
      }
      SetSocketOptions(socket);
      Admit(std::move(socket));
    }
  }

  void Admit(tcp::socket socket) {
    auto executor = socket.get_executor();
    auto connection = std::make_shared<Connection>(std::move(socket), context_);
    {
      std::lock_guard lock(mutex_);
      // Beyond the limit, close the connection without an answer: an answer would cost what the limit is meant to save.
      if (connections_.size() >= context_.options.max_connections || stopped_) return;
      connections_.emplace(connection.get(), connection);
    }
    asio::co_spawn(executor, connection->Run(), [this, key = connection.get()](std::exception_ptr) {
      std::lock_guard lock(mutex_);
      connections_.erase(key);
      if (connections_.empty()) empty_.notify_all();
    });
  }

  template <class Action>
  void ForEach(Action action) {
    std::lock_guard lock(mutex_);
    for (auto& [key, weak] : connections_) {
      if (auto connection = weak.lock()) action(*connection);
    }
  }

  bool WaitUntilEmpty(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return empty_.wait_for(lock, limit, [this] { return connections_.empty(); });
  }

  ServerContext context_;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  uint16_t port_ = 0;
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  std::map<Connection*, std::weak_ptr<Connection>> connections_;
  std::vector<std::thread> threads_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options, Router router) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(router));
  if (Status listening = impl->Listen(); !listening) return Forward(listening);
  impl->Run();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

uint16_t Server::port() const { return impl_->port(); }
size_t Server::connections() const { return impl_->connections(); }
void Server::Stop(std::chrono::milliseconds grace) { impl_->Stop(grace); }

}  // namespace inferflux::net
