#include "server/api_server.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "net/server.h"
#include "server/batches/batch_runner.h"
#include "server/reply/background_runs.h"
#include "server/request/services.h"
#include "server/request/unique_id.h"
#include "server/routes.h"

namespace inferflux::server {
namespace {

constexpr size_t kMaxFactBytes = 512;

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

// A message may repeat what a client sent.
std::string Cut(std::string text) {
  if (text.size() <= kMaxFactBytes) return text;
  text.resize(kMaxFactBytes);
  return text + "...";
}

void LogAnswer(const net::Answered& answered) {
  std::vector<log::Field> fields = {
      {"request_id", std::string(answered.request_id)},
      {"peer", std::string(answered.peer)},
      {"method", std::string(answered.method)},
      {"path", Cut(std::string(answered.target))},
      {"status", std::to_string(answered.status), true},
      {"complete", answered.complete ? "true" : "false", true},
      {"ms", fmt::format("{:.1f}", static_cast<double>(answered.duration.count()) / 1000.0), true}};
  for (const log::Field& fact : answered.facts) fields.push_back({fact.name, Cut(fact.value), fact.number});
  log::Write(IsProbe(answered.route) ? log::Level::kDebug : log::Level::kInfo, "request", fields);
}

// For the last event of a stream to reach its client, and for answers that run no model.
constexpr std::chrono::milliseconds kCloseTime{1'000};

void DrainModels(const Services& services, bool running) {
  for (const auto& model : services.models.List()) model->scheduler->Drain(running);
}

int32_t Generations(const Services& services) {
  return services.generating + static_cast<int32_t>(services.background->size());
}

// Returns how many are left.
int32_t AwaitGenerations(const Services& services, std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (Generations(services) > 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Generations(services);
}

}  // namespace

class ApiServer::Impl {
 public:
  Impl(ApiOptions options, serving::ModelPool& pool, metrics::Registry& metrics)
      : services{.models = pool.registry(),
                 .pool = pool,
                 .metrics = metrics,
                 .access = CurrentRules(std::move(options.access)),
                 .tracing = options.tracing,
                 .request_timeout = options.request_timeout,
                 .workers = options.workers,
                 .page = options.page,
                 .preparation = PreparationPool(options.preparation)} {}
  // Work in the pools passes its results to the server's threads and releases their executor afterwards, so the pools
  // end first. The coroutines that remain in the server still use the services.
  ~Impl() {
    if (services.batch_runner) services.batch_runner->Stop();
    if (server) server->Stop(std::chrono::milliseconds(0));
    if (admin_server) admin_server->Stop(std::chrono::milliseconds(0));
    services.preparation.Join();
    services.administration.join();
    server.reset();
    admin_server.reset();
  }

  // Makes the hooks of a listener's options this server's own.
  void Equip(net::ServerOptions& net) {
    net.error_response = [](int status, std::string_view message, std::string_view target) {
      return RefusalAt(target, FromStatus(status, message));
    };
    net.more_headers = [this](const net::Request& request) {
      return services.access.get()->sites.AnswerHeaders(request);
    };
    net.on_peer_full = [this] {
      services.metrics
          .GetCounter("inferflux_limited_connections_total",
                      "Connections that were closed because their address had as many as it may.", {})
          .Add();
    };
    net.make_request_id = [] { return UniqueId("req_"); };
    net.on_answered = [this](const net::Answered& answered) {
      CountAnswer(services.metrics, answered.route, answered.status);
      LogAnswer(answered);
    };
  }

  Services services;
  std::unique_ptr<net::Server> server;
  std::unique_ptr<net::Server> admin_server;  // null: the other one has its routes
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::Start(net::ServerOptions net, serving::ModelPool& pool,
                                                    metrics::Registry& metrics, ApiOptions options) {
  const std::string store_file = options.store_file;
  auto objects = ObjectStore::Open(store_file);
  if (!objects) return inferflux::Forward(objects);
  std::optional<net::ServerOptions> admin_net = std::move(options.admin_net);
  auto impl = std::make_unique<Impl>(std::move(options), pool, metrics);
  impl->services.objects = std::move(*objects);
  impl->services.background = std::make_shared<BackgroundRuns>();
  auto batches = OpenBatchDatabase(store_file);
  if (!batches) return inferflux::Forward(batches);
  impl->services.files = std::make_unique<FileStore>(*batches);
  impl->services.batches = std::make_unique<BatchStore>(*batches);
  impl->services.batch_runner = std::make_shared<BatchRunner>(impl->services);
  impl->Equip(net);
  const Door door = admin_net ? Door::kPublic : Door::kEverything;
  auto server = net::Server::Start(std::move(net), MakeRoutes(impl->services, door));
  if (!server) return inferflux::Forward(server);
  impl->server = std::move(*server);
  if (admin_net) {
    impl->Equip(*admin_net);
    auto admin = net::Server::Start(std::move(*admin_net), MakeRoutes(impl->services));
    if (!admin) return inferflux::Forward(admin, "the listener for administration");
    impl->admin_server = std::move(*admin);
  }
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

Status ApiServer::ReplaceAccess(AccessRules rules) {
  if (impl_->services.access.get()->keys.required() && !rules.keys.required()) {
    return Fail(ErrorCode::kInvalidArgument, "keys cannot be switched off while the server runs; restart it");
  }
  impl_->services.access.Replace(std::move(rules));
  return {};
}

void ApiServer::SetReady() {
  impl_->services.ready = true;
  impl_->services.batch_runner->Start();
}
uint16_t ApiServer::port() const { return impl_->server->port(); }
uint16_t ApiServer::admin_port() const { return impl_->admin_server ? impl_->admin_server->port() : 0; }

void ApiServer::Stop(std::chrono::milliseconds grace) {
  Services& services = impl_->services;
  services.draining = true;
  // The lines of batches run again at the next start, so they do not take the time of live requests.
  services.batch_runner->Stop();
  DrainModels(services, false);
  if (const int32_t rest = AwaitGenerations(services, grace); rest > 0) {
    log::Warning("{} generations did not end within the {} s of grace and are cut", rest,
                 std::chrono::duration_cast<std::chrono::seconds>(grace).count());
    services.metrics.GetCounter("inferflux_cut_generations_total", "Generations that a stop ended.", {}).Add(rest);
    DrainModels(services, true);
    AwaitGenerations(services, kCloseTime);
  }
  impl_->server->Stop(kCloseTime);
  if (impl_->admin_server) impl_->admin_server->Stop(kCloseTime);
}

}  // namespace inferflux::server
