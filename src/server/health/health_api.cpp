#include "server/health/health_api.h"

#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/version/version.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

// 200 while the process answers.
net::Response Livez(Services&, const net::Request&) { return net::Response(200, "text/plain; charset=utf-8", "ok\n"); }

// 200, with the loaded models.
net::Response Healthz(Services& services, const net::Request&) {
  json::array models;
  for (const auto& model : services.models.List()) {
    const scheduler::SchedulerStats stats = model->scheduler->stats();
    models.push_back({{"id", model->id},
                      {"backend", model->exposure.exposed_backend},
                      {"queued", stats.queued},
                      {"running", stats.running}});
  }
  json::object out;
  out["status"] = services.ready ? "ok" : "loading";
  out["models"] = std::move(models);
  return net::Response(200, "application/json", json::serialize(out));
}

// Why no request can be served although all loads have ended; none: one can. A model that is loaded by its first use
// serves, unless it failed or was unloaded by a call.
std::optional<std::string> WhyNoneServes(Services& services) {
  if (!services.models.List().empty()) return std::nullopt;
  std::string reasons;
  for (const auto& model : services.pool.Unloaded()) {
    const bool failed = model.state == serving::UnloadedModel::State::kFailed;
    if (!failed && !model.withdrawn) return std::nullopt;
    // The error may name paths: /v1/admin/models has it, for who may see them.
    reasons += failed ? fmt::format("\n{} failed to load", model.id)
                      : fmt::format(
                            "\n{} was unloaded; load it with POST /v1/admin/models or `inferctl admin load`, or "
                            "name it in a request",
                            model.id);
  }
  if (reasons.empty()) return "no model is loaded, and none can be";
  return "no model is loaded:" + reasons;
}

// 200 once every model is loaded and warm, while one serves.
net::Response Readyz(Services& services, const net::Request&) {
  if (services.draining) return net::Response(503, "text/plain; charset=utf-8", "draining: the server is stopping\n");
  if (!services.ready) {
    net::Response out(503, "text/plain; charset=utf-8", "loading models\n");
    out.headers.push_back({"Retry-After", "1"});
    return out;
  }
  if (const auto why = WhyNoneServes(services)) {
    return net::Response(503, "text/plain; charset=utf-8", *why + "\n");
  }
  std::string body = "ready\n";
  if (services.models.List().empty()) body += "no model is loaded; the first request for one loads it\n";
  for (const auto& model : services.pool.Failed()) body += "failed to load: " + model.id + "\n";
  return net::Response(200, "text/plain; charset=utf-8", std::move(body));
}

// Prometheus' text format.
net::Response Metrics(Services& services, const net::Request&) {
  const auto families = services.metrics.Collectable().Collect();
  return net::Response(200, "text/plain; version=0.0.4; charset=utf-8",
                       prometheus::TextSerializer().Serialize(families));
}

net::Response Version(Services&, const net::Request&) {
  json::object out;
  out["name"] = "inferflux";
  out["version"] = kVersion;
  return net::Response(200, "application/json", json::serialize(out));
}

constexpr Route kHealthRoutes[] = {
    {"GET", "/livez", Access::kOpen, &Livez},     {"GET", "/healthz", Access::kOpen, &Healthz},
    {"GET", "/readyz", Access::kOpen, &Readyz},   {"GET", "/metrics", Access::kMetrics, &Metrics},
    {"GET", "/version", Access::kOpen, &Version},
};

}  // namespace

Api HealthApi() { return {.routes = kHealthRoutes}; }

}  // namespace inferflux::server
