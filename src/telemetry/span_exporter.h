// Sends spans to a collector by OTLP over HTTP, in batches, on a thread of its own. Requests do not wait for
// it: spans that do not fit into its queue, or cannot be delivered, are dropped and counted.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "metrics/registry.h"
#include "net/client/async_client.h"
#include "telemetry/span.h"

namespace inferflux::telemetry {

class SpanExporter {
 public:
  static constexpr size_t kMaxQueued = 4096;                 // spans
  static constexpr size_t kMaxBatch = 512;                   // spans in one message
  static constexpr std::chrono::milliseconds kPause{1'000};  // between two messages, unless a batch is full
  static constexpr int kMostTries = 5;                       // of a batch, while the collector is away or busy

  // `endpoint` is "http://HOST:4318": /v1/traces follows, unless it is there already. kInvalidArgument or kUnsupported
  // if it is not such an address. `metrics` must outlive it.
  static Result<std::unique_ptr<SpanExporter>> Start(const std::string& endpoint, std::string service_name,
                                                     metrics::Registry& metrics);
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  // Any thread; never blocks.
  void Add(std::vector<Span> spans);

  // Sends what is queued, for at most this long, and ends the thread. Once.
  void Stop(std::chrono::milliseconds bound);

 private:
  SpanExporter(net::ServerAddress address, std::string service_name, metrics::Registry& metrics);

  std::vector<Span> Take();
  bool Stopping() const;
  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<void> Pause(std::chrono::milliseconds time);
  boost::asio::awaitable<void> Deliver(std::vector<Span> batch);
  boost::asio::awaitable<bool> Post(const std::string& body, size_t spans, bool last);
  void Note(std::string_view problem);

  const std::string service_name_;
  metrics::Counter sent_;
  metrics::Counter overflowed_;
  metrics::Counter undelivered_;
  boost::asio::io_context io_{1};
  boost::asio::steady_timer timer_;
  const std::shared_ptr<net::AsyncClient> client_;
  bool told_ = false;     // of the problem, which lasts
  size_t in_flight_ = 0;  // spans of the batch that is being delivered

  mutable std::mutex mutex_;  // guards what follows, up to the thread
  std::deque<Span> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace inferflux::telemetry
