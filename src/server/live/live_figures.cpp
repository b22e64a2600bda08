#include "server/live/live_figures.h"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <boost/json/array.hpp>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/contract/codec.h"
#include "worker/pool/worker_manager.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using MetricFamilies = std::vector<prometheus::MetricFamily>;

constexpr std::pair<std::string_view, std::string_view> kLiveCounters[] = {
    {"prompt_tokens", "inferflux_model_prompt_tokens_total"},
    {"cached_tokens", "inferflux_cached_prompt_tokens_total"},
    {"completion_tokens", "inferflux_model_completion_tokens_total"},
    {"drafted_tokens", "inferflux_drafted_tokens_total"},
    {"accepted_tokens", "inferflux_accepted_tokens_total"},
};

const prometheus::MetricFamily* FindFamily(const MetricFamilies& families, std::string_view name) {
  for (const prometheus::MetricFamily& family : families) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

// Over all models.
double CounterSum(const MetricFamilies& families, std::string_view name) {
  double out = 0;
  const prometheus::MetricFamily* family = FindFamily(families, name);
  if (family == nullptr) return out;
  for (const prometheus::ClientMetric& metric : family->metric) out += metric.counter.value;
  return out;
}

// Cumulative counts by upper bound in seconds; null stands for no bound.
json::array BucketsOf(const MetricFamilies& families, std::string_view name) {
  std::map<double, uint64_t> counts;
  if (const prometheus::MetricFamily* family = FindFamily(families, name)) {
    for (const prometheus::ClientMetric& metric : family->metric) {
      for (const auto& bucket : metric.histogram.bucket) counts[bucket.upper_bound] += bucket.cumulative_count;
    }
  }
  json::array out;
  for (const auto& [bound, count] : counts) {
    out.push_back(json::array{std::isfinite(bound) ? json::value(bound) : json::value(nullptr), count});
  }
  return out;
}

// What each model does, and the sums over all in `out`.
json::array DescribeRunning(const Services& services, json::object& out) {
  scheduler::SchedulerStats all;
  json::array models;
  for (const auto& model : services.models.List()) {
    const scheduler::SchedulerStats stats = model->scheduler->stats();
    models.push_back({{"id", model->id},
                      {"backend", model->exposure.exposed_backend},
                      {"running", stats.running},
                      {"waiting", stats.queued}});
    all.running += stats.running;
    all.queued += stats.queued;
    all.preemptions += stats.preemptions;
    all.kv_blocks_used += stats.kv_blocks_used;
    all.kv_blocks_free += stats.kv_blocks_free;
    all.kv_blocks_cached += stats.kv_blocks_cached;
  }
  out["running"] = all.running;
  out["waiting"] = all.queued;
  out["preemptions"] = all.preemptions;
  out["kv_blocks"] = {{"used", all.kv_blocks_used},
                      {"cached", all.kv_blocks_cached},
                      {"free", all.kv_blocks_free - all.kv_blocks_cached}};
  return models;
}

json::array DescribeLiveWorkers(const Services& services) {
  json::array out;
  if (services.workers == nullptr) return out;
  for (const worker::WorkerView& view : services.workers->List()) {
    out.push_back({{"id", view.id},
                   {"model", view.model},
                   {"backend", view.backend},
                   {"state", worker::NameOf(view.phase)},
                   {"seconds", view.seconds_in_phase},
                   {"restarts", view.restarts},
                   {"running", view.in_flight},
                   {"waiting", view.load.queued}});
  }
  return out;
}

}  // namespace

json::object LiveFigures(const Services& services) {
  const MetricFamilies families = services.metrics.Collectable().Collect();
  json::object out;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  out["at"] = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  out["ready"] = services.ready.load();
  for (const auto& [name, metric] : kLiveCounters) out[name] = CounterSum(families, metric);
  out["time_to_first_token"] = BucketsOf(families, "inferflux_time_to_first_token_seconds");
  out["inter_token_latency"] = BucketsOf(families, "inferflux_inter_token_latency_seconds");
  out["models"] = DescribeRunning(services, out);
  out["pooled"] = services.workers != nullptr;
  out["workers"] = DescribeLiveWorkers(services);
  return out;
}

}  // namespace inferflux::server
