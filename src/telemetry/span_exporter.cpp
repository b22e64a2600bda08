#include "telemetry/span_exporter.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "net/url.h"
#include "telemetry/otlp_json.h"

namespace inferflux::telemetry {
namespace asio = boost::asio;
namespace {

constexpr std::string_view kPath = "/v1/traces";
constexpr net::AsyncClientOptions kClient{.connect_timeout = std::chrono::milliseconds(2'000),
                                          .silence_timeout = std::chrono::milliseconds(10'000),
                                          .max_kept = 1};

// What OTLP says a client tries again.
bool MayWork(int status) { return status == 429 || status == 502 || status == 503 || status == 504; }

}  // namespace

Result<std::unique_ptr<SpanExporter>> SpanExporter::Start(const std::string& endpoint, std::string service_name,
                                                          metrics::Registry& metrics) {
  auto address = net::ParsePlainAddress(endpoint);
  if (!address) return Forward(address);
  if (address->base_path.ends_with(kPath)) {
    address->base_path.resize(address->base_path.size() - kPath.size());
  }
  return std::unique_ptr<SpanExporter>(new SpanExporter(std::move(*address), std::move(service_name), metrics));
}

SpanExporter::SpanExporter(net::ServerAddress address, std::string service_name, metrics::Registry& metrics)
    : service_name_(std::move(service_name)),
      sent_(metrics.GetCounter("inferflux_spans_sent_total", "Spans that the collector has taken.", {})),
      overflowed_(metrics.GetCounter("inferflux_spans_dropped_total", "Spans that no collector got.",
                                     {{"reason", "queue_full"}})),
      undelivered_(metrics.GetCounter("inferflux_spans_dropped_total", "Spans that no collector got.",
                                      {{"reason", "undelivered"}})),
      timer_(io_),
      client_(std::make_shared<net::AsyncClient>(io_, std::move(address), kClient)) {
  asio::co_spawn(io_, Run(), asio::detached);
  thread_ = std::thread([this] { io_.run(); });
}

SpanExporter::~SpanExporter() {
  if (thread_.joinable()) Stop(std::chrono::milliseconds(0));
}

void SpanExporter::Add(std::vector<Span> spans) {
  size_t taken = 0;
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    taken = stopping_ ? 0 : std::min(spans.size(), kMaxQueued - queue_.size());
    std::move(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(taken), std::back_inserter(queue_));
    full = queue_.size() >= kMaxBatch && queue_.size() - taken < kMaxBatch;
  }
  if (taken < spans.size()) overflowed_.Add(static_cast<int64_t>(spans.size() - taken));
  if (full) asio::post(io_, [this] { timer_.cancel(); });
}

void SpanExporter::Stop(std::chrono::milliseconds bound) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  asio::post(io_, [this, bound] {
    timer_.cancel();
    auto limit = std::make_shared<asio::steady_timer>(io_, bound);
    limit->async_wait([this, limit](auto) { io_.stop(); });
  });
  thread_.join();
  const std::lock_guard lock(mutex_);
  undelivered_.Add(static_cast<int64_t>(queue_.size() + in_flight_));
  queue_.clear();
}

std::vector<Span> SpanExporter::Take() {
  const std::lock_guard lock(mutex_);
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kMaxBatch));
  std::vector<Span> out(std::move_iterator(queue_.begin()), std::move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return out;
}

bool SpanExporter::Stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

asio::awaitable<void> SpanExporter::Run() {
  while (true) {
    const bool last = Stopping();  // looked at first: what comes later is dropped
    std::vector<Span> batch = Take();
    if (!batch.empty()) {
      const bool more = batch.size() == kMaxBatch;
      co_await Deliver(std::move(batch));
      if (more) continue;
    } else if (last) {
      break;
    }
    if (!last) co_await Pause(kPause);
  }
  io_.stop();
}

asio::awaitable<void> SpanExporter::Pause(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  if (!Stopping()) co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<void> SpanExporter::Deliver(std::vector<Span> batch) {
  const std::string body = OtlpJson(service_name_, batch);
  in_flight_ = batch.size();
  std::chrono::milliseconds wait = kPause;
  for (int attempt = 1;; ++attempt, wait *= 2) {
    const bool last = attempt == kMostTries || Stopping();
    if (co_await Post(body, batch.size(), last)) break;
    co_await Pause(wait);
  }
  in_flight_ = 0;
}

// False if it is to be tried again.
asio::awaitable<bool> SpanExporter::Post(const std::string& body, size_t spans, bool last) {
  net::ClientRequest request{.method = "POST", .target = std::string(kPath), .headers = {}, .body = body};
  auto answer = co_await client_->Send(std::move(request));
  const auto count = static_cast<int64_t>(spans);
  if (answer && answer->status >= 200 && answer->status < 300) {
    sent_.Add(count);
    told_ = false;
    co_return true;
  }
  Note(answer ? fmt::format("it answered {}", answer->status) : answer.error().message);
  if (!last && (!answer || MayWork(answer->status))) co_return false;
  undelivered_.Add(count);
  co_return true;
}

void SpanExporter::Note(std::string_view problem) {
  if (!std::exchange(told_, true)) {
    log::Warning("telemetry: the collector {}:{} takes no traces: {}", client_->address().host, client_->address().port,
                 problem);
  }
}

}  // namespace inferflux::telemetry
