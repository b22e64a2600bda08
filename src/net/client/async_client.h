// An asynchronous HTTP/1.1 client for one server, with kept connections. Coroutines use it on the one thread that runs
// its io_context; another thread may only call SendNow and kept.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/client.h"
#include "net/url.h"

namespace inferflux::net {

struct AsyncClientOptions {
  std::chrono::milliseconds connect_timeout{2'000};
  std::chrono::milliseconds silence_timeout{600'000};  // the longest wait for a part of a response
  size_t max_kept = 32;                                // idle connections
};

class AsyncClient;

// A response whose head has arrived. Its connection is kept for the next request once the body has been read to the
// end; otherwise it closes with this object.
class Exchange {
 public:
  // Private to AsyncClient.
  struct State;
  Exchange(std::shared_ptr<AsyncClient> client, std::unique_ptr<State> state);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  int status() const;
  const std::vector<Header>& headers() const;

  // The next piece of the body, or an empty string at its end. kUnavailable if the connection failed.
  boost::asio::awaitable<Result<std::string>> Read();
  // The rest of the body, of at most Client::kMaxBodyBytes.
  boost::asio::awaitable<Result<std::string>> ReadAll();

  // Ends a waiting Read with an error.
  void Close();

 private:
  std::shared_ptr<AsyncClient> client_;
  std::unique_ptr<State> state_;
};

// A request whose bytes are on their way: as many as a kept connection took at once. Dropping it closes that
// connection, which tells the server that the request is cancelled.
struct SentRequest {
  std::unique_ptr<boost::beast::tcp_stream> stream;  // null: no connection was kept
  std::string text;                                  // the whole message
  size_t written = 0;                                // bytes of it
  bool head_only = false;
};

class AsyncClient : public std::enable_shared_from_this<AsyncClient> {
 public:
  // `io` must outlive the client and its exchanges.
  AsyncClient(boost::asio::io_context& io, ServerAddress address, AsyncClientOptions options = {});

  // Sends a request and waits for the head of its response. A kept connection that the server has closed in the
  // meantime is replaced once, before any byte of a response has arrived. kUnavailable if the server cannot be reached.
  boost::asio::awaitable<Result<std::unique_ptr<Exchange>>> Start(ClientRequest request);
  // The two halves of Start. SendNow never waits, and any thread may call it: a request that another thread makes is
  // with the server before the client's own thread has woken up. Resume waits for the head of the response.
  std::unique_ptr<SentRequest> SendNow(const ClientRequest& request);
  boost::asio::awaitable<Result<std::unique_ptr<Exchange>>> Resume(std::unique_ptr<SentRequest> sent);
  // The same as Start, with the whole body.
  boost::asio::awaitable<Result<ClientResponse>> Send(ClientRequest request);

  // Closes the kept connections.
  void CloseKept();
  size_t kept() const;
  const ServerAddress& address() const { return address_; }

 private:
  friend class Exchange;
  using Stream = boost::beast::tcp_stream;

  boost::asio::awaitable<Result<std::unique_ptr<Stream>>> Connect();
  boost::asio::awaitable<Result<std::unique_ptr<Exchange::State>>> Perform(std::unique_ptr<Stream> stream,
                                                                           const SentRequest& request, size_t written);
  std::unique_ptr<SentRequest> Prepare(const ClientRequest& request);
  void Keep(std::unique_ptr<Stream> stream);

  boost::asio::io_context& io_;
  const ServerAddress address_;
  const AsyncClientOptions options_;
  mutable std::mutex mutex_;                   // guards kept_
  std::vector<std::unique_ptr<Stream>> kept_;  // the most recently used last
};

}  // namespace inferflux::net
