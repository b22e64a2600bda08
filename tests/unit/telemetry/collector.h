// A collector of traces in this process, and what the tests of the exporter share.
#pragma once

#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "metrics/registry.h"
#include "net/router.h"
#include "net/server.h"
#include "telemetry/span.h"

namespace inferflux::telemetry {

// Takes what is sent, answers with `status`.
struct Collector {
  explicit Collector(const std::string& path = "/v1/traces") {
    net::Router routes;
    routes.Add("POST", path,
               [this](const net::Request& request, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
                 Note();
                 const auto body = boost::json::parse(request.body);
                 if (status == 200) Take(body.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array());
                 net::Response answer(status, "application/json", status == 204 ? "" : "{}");
                 co_await writer.Send(std::move(answer));
               });
    server = std::move(*net::Server::Start({}, std::move(routes)));
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server->port()); }
  // When each message came.
  std::vector<std::chrono::steady_clock::time_point> times() const {
    const std::lock_guard lock(mutex);
    return arrivals;
  }
  // The names of the spans, of each message.
  std::vector<std::vector<std::string>> names() const {
    const std::lock_guard lock(mutex);
    return messages;
  }

  std::atomic<int> status{200};
  std::atomic<int> posts{0};
  std::atomic<size_t> spans{0};
  mutable std::mutex mutex;
  std::vector<std::vector<std::string>> messages;
  std::vector<std::chrono::steady_clock::time_point> arrivals;
  std::unique_ptr<net::Server> server;  // last: ends first

 private:
  void Note() {
    const std::lock_guard lock(mutex);
    arrivals.push_back(std::chrono::steady_clock::now());
    ++posts;
  }
  void Take(const boost::json::array& list) {
    const std::lock_guard lock(mutex);
    auto& message = messages.emplace_back();
    for (const auto& span : list) message.emplace_back(span.at("name").as_string());
    spans += list.size();
  }
};

// Named by their numbers.
inline std::vector<Span> Spans(size_t count) {
  std::vector<Span> out(count);
  for (size_t i = 0; i < count; ++i) out[i].name = std::to_string(i);
  return out;
}

inline bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 500 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return condition();
}

inline std::string Exposed(const metrics::Registry& metrics) {
  return prometheus::TextSerializer().Serialize(metrics.Collectable().Collect());
}

// A count of spans: "sent_total", "dropped_total{reason=\"queue_full\"}" or that of "undelivered". -1: none.
inline double SpanCount(const metrics::Registry& metrics, const std::string& name) {
  const std::string text = Exposed(metrics), line = "\ninferflux_spans_" + name + " ";
  const size_t at = text.find(line);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size()));
}

}  // namespace inferflux::telemetry
