#include "server/health/health_api.h"

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

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

// 200 once every model is loaded and warm.
net::Response Readyz(Services& services, const net::Request&) {
  if (services.ready && services.models.List().empty() && services.pool.Unloaded().empty()) {
    return net::Response(503, "text/plain; charset=utf-8", "no model is loaded, and none can be\n");
  }
  if (services.ready) {
    std::string body = "ready\n";
    for (const auto& model : services.pool.Failed()) body += "failed to load: " + model.id + "\n";
    return net::Response(200, "text/plain; charset=utf-8", std::move(body));
  }
  net::Response out(503, "text/plain; charset=utf-8", "loading models\n");
  out.headers.push_back({"Retry-After", "1"});
  return out;
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
  out["version"] = INFERFLUX_VERSION;
  return net::Response(200, "application/json", json::serialize(out));
}

constexpr Route kHealthRoutes[] = {
    {"GET", "/livez", Access::kOpen, &Livez},     {"GET", "/healthz", Access::kOpen, &Healthz},
    {"GET", "/readyz", Access::kOpen, &Readyz},   {"GET", "/metrics", Access::kOpen, &Metrics},
    {"GET", "/version", Access::kOpen, &Version},
};

}  // namespace

Api HealthApi() { return {.routes = kHealthRoutes}; }

}  // namespace inferflux::server
