#include "server/api_server.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/log.h"
#include "net/server.h"
#include "server/reply/background_runs.h"
#include "server/request/services.h"
#include "server/request/unique_id.h"
#include "server/routes.h"

namespace inferflux::server {
namespace {

// Labels use only values of bounded variety (route patterns, statuses), never text that a client invents.
void CountAnswer(metrics::Registry& metrics, std::string_view route, int status) {
  metrics
      .GetCounter("inferflux_http_responses_total", "Responses by route and status.",
                  {{"route", route.empty() ? "none" : std::string(route)}, {"status", std::to_string(status)}})
      .Add();
}

// Probes and scrapes come every few seconds and would hide the requests.
bool IsProbe(std::string_view route) {
  return route == "/healthz" || route == "/readyz" || route == "/health" || route == "/metrics";
}

void LogAnswer(const net::Answered& answered) {
  log::Write(IsProbe(answered.route) ? log::Level::kDebug : log::Level::kInfo, "request",
             {{"request_id", std::string(answered.request_id)},
              {"peer", std::string(answered.peer)},
              {"method", std::string(answered.method)},
              {"path", std::string(answered.target)},
              {"status", std::to_string(answered.status), true},
              {"complete", answered.complete ? "true" : "false", true},
              {"ms", fmt::format("{:.1f}", static_cast<double>(answered.duration.count()) / 1000.0), true}});
}

}  // namespace

class ApiServer::Impl {
 public:
  Impl(ApiKeys keys, serving::ModelPool& pool, metrics::Registry& metrics)
      : services{.models = pool.registry(), .pool = pool, .metrics = metrics, .keys = std::move(keys)} {}
  // Work in the pools passes its results to the server's threads and releases their executor afterwards, so the pools
  // end first. The coroutines that remain in the server still use the services.
  ~Impl() {
    if (server) server->Stop(std::chrono::milliseconds(0));
    services.preparation.join();
    services.administration.join();
    server.reset();
  }

  Services services;
  std::unique_ptr<net::Server> server;
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::Start(net::ServerOptions net, ApiKeys keys, serving::ModelPool& pool,
                                                    metrics::Registry& metrics, bool page,
                                                    worker::WorkerManager* workers, const std::string& store_file) {
  auto impl = std::make_unique<Impl>(std::move(keys), pool, metrics);
  impl->services.page = page;
  impl->services.workers = workers;
  auto objects = ObjectStore::Open(store_file);
  if (!objects) return inferflux::Forward(objects);
  impl->services.objects = std::move(*objects);
  impl->services.background = std::make_shared<BackgroundRuns>();
  net.error_response = [](int status, std::string_view message, std::string_view target) {
    return RefusalAt(target, FromStatus(status, message));
  };
  net.make_request_id = [] { return UniqueId("req_"); };
  net.on_answered = [&metrics](const net::Answered& answered) {
    CountAnswer(metrics, answered.route, answered.status);
    LogAnswer(answered);
  };
  auto server = net::Server::Start(std::move(net), MakeRoutes(impl->services));
  if (!server) return inferflux::Forward(server);
  impl->server = std::move(*server);
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

void ApiServer::SetReady() { impl_->services.ready = true; }
uint16_t ApiServer::port() const { return impl_->server->port(); }
void ApiServer::Stop(std::chrono::milliseconds grace) { impl_->server->Stop(grace); }

}  // namespace inferflux::server
