#include "net/server.h"

#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/log.h"
#include "net/connection.h"
#include "net/listening/peer_connections.h"
#include "net/listening/port_owner.h"
#include "net/transport/unix_socket.h"

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
  Impl(ServerOptions options, Router router)
      : io_(options.io_threads == 1 ? 1 : BOOST_ASIO_CONCURRENCY_HINT_DEFAULT),  // one thread needs no other woken
        acceptor_(asio::make_strand(io_)),
        unix_acceptor_(acceptor_.get_executor()),
        peers_(options.max_peer_connections) {
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
    if (error == asio::error::address_in_use) {
      return Fail(ErrorCode::kIo,
                  "cannot listen on {}:{}: the port is in use by {}; end it, or choose another port (0: any free one)",
                  options.host, options.port, DescribePortOwner(options.port));
    }
    if (error) {
      return Fail(ErrorCode::kIo, "cannot listen on {}:{}: {}", options.host, options.port, error.message());
    }
    port_ = acceptor_.local_endpoint(error).port();
    return ListenOnUnixSocket();
  }

  void Run() {
    asio::co_spawn(acceptor_.get_executor(), Accept(acceptor_), asio::detached);
    if (unix_acceptor_.is_open()) asio::co_spawn(acceptor_.get_executor(), Accept(unix_acceptor_), asio::detached);
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
  // Only who may open the file may connect: its folder and its mode are the lock.
  Status ListenOnUnixSocket() {
    const std::string& path = context_.options.unix_socket;
    if (path.empty()) return {};
    if (Status free = MakeWayForUnixSocket(path); !free) return free;
    boost::system::error_code error;
    const asio::local::stream_protocol::endpoint endpoint(path);
    unix_acceptor_.open(endpoint.protocol(), error);
    if (!error) unix_acceptor_.bind(endpoint, error);
    unix_bound_ = !error;
    if (!error && ::chmod(path.c_str(), 0660) != 0) error.assign(errno, boost::system::system_category());
    if (!error) unix_acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return Fail(ErrorCode::kIo, "cannot listen on server.unix_socket {}: {}", path, error.message());
    return {};
  }

  void CloseAcceptor() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    if (!unix_acceptor_.is_open()) return;
    unix_acceptor_.close(ignored);
    if (unix_bound_) ::unlink(context_.options.unix_socket.c_str());
  }

  static std::string PeerOf(const tcp::socket& socket) {
    boost::system::error_code failed;
    const tcp::endpoint peer = socket.remote_endpoint(failed);
    return failed ? std::string() : peer.address().to_string();
  }
  static std::string PeerOf(const asio::local::stream_protocol::socket&) { return "unix"; }

  template <class Acceptor>
  asio::awaitable<void> Accept(Acceptor& acceptor) {
    while (acceptor.is_open()) {
      auto [error, socket] = co_await acceptor.async_accept(asio::any_io_executor(asio::make_strand(io_)), kAwait);
      if (error == asio::error::operation_aborted || !acceptor.is_open()) break;
      if (error) {  // usually out of file descriptors; connections that end release some
        log::Warning("accepting a connection: {}", error.message());
        asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(100));
        co_await pause.async_wait(kAwait);
        continue;
      }
      if constexpr (std::is_same_v<Acceptor, tcp::acceptor>) SetSocketOptions(socket);
      std::string peer = PeerOf(socket);
      Admit(Stream::Socket(std::move(socket)), std::move(peer));
    }
  }

  void Admit(Stream::Socket socket, std::string peer) {
    auto executor = socket.get_executor();
    const std::string client = ClientAddress(peer);
    // Beyond a limit, close the connection without an answer: an answer would cost what the limit is meant to save.
    if (!peers_.Enter(client)) {
      if (context_.options.on_peer_full) context_.options.on_peer_full();
      return;
    }
    auto connection = std::make_shared<Connection>(std::move(socket), std::move(peer), context_);
    bool full = false;
    {
      std::lock_guard lock(mutex_);
      full = connections_.size() >= context_.options.max_connections || stopped_;
      if (!full) connections_.emplace(connection.get(), connection);
    }
    if (full) return peers_.Leave(client);
    asio::co_spawn(executor, connection->Run(), [this, client, key = connection.get()](std::exception_ptr) {
      peers_.Leave(client);
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
  asio::local::stream_protocol::acceptor unix_acceptor_;  // closed if there is no such socket
  bool unix_bound_ = false;                               // the socket's file is ours
  uint16_t port_ = 0;
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  std::map<Connection*, std::weak_ptr<Connection>> connections_;
  PeerConnections peers_;
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
