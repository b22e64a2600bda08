#include "apps/inferfluxd/daemon.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "apps/console/embedded_model.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "command_line/stop_signals.h"
#include "compute/cpu/kernels/select_isa.h"
#include "metrics/registry.h"
#include "server/api_server.h"
#include "serving/backends/built_in_engines.h"
#include "serving/pool/model_pool.h"
#include "worker/pool/worker_manager.h"

namespace inferflux::apps {
namespace {

using config::Settings;

// Each stream is a file descriptor, and the usual limit of 1,024 is meant for programs that use select().
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

net::ServerOptions NetOptions(const Settings& settings) {
  net::ServerOptions out;
  out.host = settings.Text("server.host");
  out.port = static_cast<uint16_t>(settings.Integer("server.port"));
  out.io_threads = static_cast<int>(settings.Integer("server.io_threads"));
  out.max_body_bytes = static_cast<size_t>(settings.Bytes("server.max_body_bytes"));
  out.max_connections = static_cast<size_t>(settings.Integer("server.max_connections"));
  return out;
}

// The load options of every model, unless its own settings or an admin call override them. `stop` cancels loads.
serving::LoadRequest LoadDefaults(const Settings& settings, std::vector<serving::BackendRule> rules,
                                  std::stop_token stop) {
  serving::LoadRequest out;
  out.requested_backend = settings.Words("runtime.backend");
  out.context = static_cast<int32_t>(settings.Integer("runtime.context"));
  out.rules = std::move(rules);
  out.shared = settings.backend_defaults();
  out.shared_changes = settings.backend_changes();
  out.max_batch_tokens = static_cast<int32_t>(settings.Integer("runtime.max_batch_tokens"));
  out.max_queued = static_cast<int32_t>(settings.Integer("runtime.max_queue"));
  out.goal =
      settings.Text("runtime.goal") == "latency" ? scheduler::StepGoal::kLatency : scheduler::StepGoal::kThroughput;
  out.speculation = settings.Text("runtime.speculation");
  out.max_draft_tokens = static_cast<int32_t>(settings.Integer("runtime.max_draft_tokens"));
  out.sessions = {.memory_bytes = settings.Bytes("runtime.session_memory"),
                  .directory = settings.Text("runtime.session_dir"),
                  .disk_bytes = settings.Bytes("runtime.session_disk")};
  out.stop = std::move(stop);
  return out;
}

serving::LoadRequest MakeLoadRequest(serving::LoadRequest defaults, const config::ModelSetting& model) {
  defaults.id = model.id;
  defaults.path = model.path;
  defaults.draft = model.draft;
  if (model.context > 0) defaults.context = model.context;
  defaults.format = model.format;
  defaults.config = model.config;
  if (!model.backend.empty()) defaults.requested_backend = model.backend;
  defaults.pinned = !model.keep_alive;
  if (model.keep_alive) defaults.keep_alive = serving::KeepAlive(*model.keep_alive);
  return defaults;
}

Result<std::vector<config::ModelSetting>> ModelsToServe(const Settings& settings) {
  if (!settings.models().empty() || !settings.Text("runtime.models_dir").empty()) return settings.models();
  auto path = FindEmbeddedModel();
  if (!path) return Forward(path);
  config::ModelSetting model;
  model.id = kEmbeddedModelId;
  model.path = std::move(*path);
  return std::vector{model};
}

// A word that no backend has is an error of the configuration, not of one model.
Status CheckChains(const Settings& settings) {
  const auto check = [](std::string_view chain, const std::string& name) -> Status {
    if (const auto parsed = serving::ParseChain(chain); !parsed) return Forward(parsed, name);
    return {};
  };
  if (Status known = check(settings.Words("runtime.backend"), "runtime.backend"); !known) return known;
  if (Status known = check(settings.Words("runtime.backend_priority"), "runtime.backend_priority"); !known)
    return known;
  for (const config::ModelSetting& model : settings.models()) {
    if (model.backend.empty()) continue;
    if (Status known = check(model.backend, model.origin + ": models.backend"); !known) return known;
  }
  return {};
}

// Loads what it can. A model that fails is logged and listed by the admin API; it is an error only if no model serves.
Status LoadModels(const Settings& settings, serving::ModelPool& pool, const std::stop_token& stop) {
  auto models = ModelsToServe(settings);
  if (!models) return Forward(models);
  Status failed;
  for (const config::ModelSetting& model : *models) {
    serving::LoadRequest request = MakeLoadRequest(pool.defaults(), model);
    pool.Offer(request);  // it may be unloaded when it is idle, or load at a later try
    auto loaded = pool.Load(request, model.is_default);
    if (loaded) continue;
    failed = Forward(loaded, "model '" + model.id + "'");
    if (stop.stop_requested()) return failed;
    log::Error("{}", failed.error().message);
    pool.RecordFailure(request, loaded.error());
  }
  const bool serves = !pool.List().empty() || !settings.Text("runtime.models_dir").empty();
  return serves ? Status() : failed;
}

// The address to show: one that a client can connect to, even if the server listens on all addresses.
std::string UrlOf(const std::string& host, uint16_t port) {
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(host, no_address);
  if (no_address) return fmt::format("http://{}:{}", host, port);
  if (address.is_unspecified()) return fmt::format("http://{}:{}", address.is_v6() ? "[::1]" : "127.0.0.1", port);
  return address.is_v6() ? fmt::format("http://[{}]:{}", host, port) : fmt::format("http://{}:{}", host, port);
}

// Readers see the whole line or nothing.
Status WritePortFile(const std::string& path, const std::string& url) {
  if (path.empty()) return {};
  const std::string partial = path + ".partial";
  std::ofstream(partial) << url << '\n';
  if (std::rename(partial.c_str(), path.c_str()) != 0)
    return Fail(ErrorCode::kIo, "cannot write the port file {}", path);
  return {};
}

// Without keys the server is for this machine only. The address that the host resolves to decides: "0" and "0.0.0.0"
// are the same address.
Status CheckDoor(const std::string& host, const std::string& address, bool loopback) {
  if (loopback) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "server.host {} is the address {}, which lets other machines in, and there are no API keys: set "
              "server.api_keys_file (or INFERFLUX_API_KEYS_FILE), or listen on 127.0.0.1",
              host, address);
}

serving::ExposurePolicy Policy(const Settings& settings) {
  return {.prefer_native = settings.Switch("runtime.backend_exposure.prefer_native"),
          .allow_llama_fallback = settings.Switch("runtime.backend_exposure.allow_llama_fallback"),
          .priority = settings.Words("runtime.backend_priority")};
}

serving::RoutingPolicy RoutingPolicy(const Settings& settings) {
  return {.allow_default_fallback = settings.Switch("runtime.capability_routing.allow_default_fallback"),
          .require_ready_backend = settings.Switch("runtime.capability_routing.require_ready_backend"),
          .fallback_scope = settings.Text("runtime.capability_routing.fallback_scope") == "any_compatible"
                                ? serving::FallbackScope::kAnyCompatible
                                : serving::FallbackScope::kSamePathOnly};
}

Result<serving::PoolOptions> PoolOptions(const Settings& settings) {
  serving::PoolOptions out{.memory_budget = settings.Bytes("runtime.memory_budget"),
                           .keep_alive = serving::KeepAlive(settings.Integer("runtime.keep_alive"))};
  const std::string& path = settings.Text("runtime.models_dir");
  if (path.empty()) return out;
  auto directory = serving::ModelsDirectory::Open(path);
  if (!directory) return Forward(directory, "runtime.models_dir");
  out.directory = std::move(*directory);
  return out;
}

worker::PoolOptions WorkerPoolOptions(const Settings& settings) {
  using std::chrono::seconds;
  worker::PoolOptions out;
  out.directory = settings.Text("workers.directory");
  out.count = static_cast<int32_t>(settings.Integer("workers.count"));
  out.threads = static_cast<int32_t>(settings.Integer("runtime.threads"));
  out.expected = out.count * std::max<int32_t>(1, static_cast<int32_t>(settings.models().size()));
  out.log_level = settings.Text("log.level");
  out.log_format = settings.Text("log.format");
  out.times = {.start = seconds(settings.Integer("workers.start_seconds")),
               .heartbeat = seconds(settings.Integer("workers.heartbeat_seconds")),
               .grace = seconds(settings.Integer("workers.grace_seconds"))};
  return out;
}

Result<server::ApiKeys> LoadKeys(const Settings& settings) {
  const std::string& path = settings.Text("server.api_keys_file");
  return path.empty() ? server::ApiKeys() : server::ApiKeys::Load(path);
}

// Serves until a signal arrives or the models cannot be loaded.
Status Serve(const DaemonOptions& options) {
  const Settings& settings = options.settings;
  if (Status known = CheckChains(settings); !known) return known;
  auto rules = serving::MakeBackendRules(settings.backends());
  if (!rules) return Forward(rules);
  if (const auto note = compute::cpu::DescribeBuild(); !note.text.empty()) {
    log::Write(note.slower ? log::Level::kWarning : log::Level::kInfo, "cpu kernels: " + note.text);
  }
  auto keys = LoadKeys(settings);
  if (!keys) return Forward(keys);
  const auto threads = static_cast<int>(settings.Integer("runtime.threads"));
  ThreadPool compute(threads > 0 ? threads : UsableCores());
  metrics::Registry metrics;
  std::vector<serving::EngineEntry> engines = serving::BuiltInEngines(compute);
  std::unique_ptr<worker::WorkerManager> workers;
  if (settings.Switch("workers.enabled")) {
    auto started = worker::WorkerManager::Start(WorkerPoolOptions(settings), metrics);
    if (!started) return Forward(started);
    workers = std::move(*started);
    engines = workers->WithPrograms(std::move(engines));
  }
  const serving::BackendFactory factory(std::move(engines), Policy(settings));
  auto pool_options = PoolOptions(settings);
  if (!pool_options) return Forward(pool_options);
  std::stop_source stop_loads;
  serving::LoadRequest defaults = LoadDefaults(settings, std::move(*rules), stop_loads.get_token());
  if (workers) defaults.start = workers->Starter();
  serving::ModelPool pool(factory, metrics, std::move(defaults), std::move(*pool_options));
  pool.SetPolicy(RoutingPolicy(settings));
  net::ServerOptions net = NetOptions(settings);
  if (!keys->required()) net.check_address = std::bind_front(CheckDoor, net.host);
  auto server =
      server::ApiServer::Start(std::move(net), std::move(*keys), pool, metrics, settings.Switch("server.page"),
                               workers.get(), settings.Text("server.store_file"));
  if (!server) return Forward(server);
  const std::string url = UrlOf(settings.Text("server.host"), (*server)->port());
  log::Info("listening on {}", url);
  if (Status written = WritePortFile(options.port_file, url); !written) return written;

  Status loaded;
  std::thread loader([&] {
    loaded = LoadModels(settings, pool, stop_loads.get_token());
    if (stop_loads.stop_requested()) return;
    if (loaded) {
      (*server)->SetReady();
    } else {
      RequestStop();
    }
  });
  WaitForStop();
  RestoreStopSignals();
  log::Info("stopping");
  stop_loads.request_stop();
  (*server)->Stop(std::chrono::seconds(settings.Integer("server.grace_seconds")));
  loader.join();
  if (!pool.Loading().empty()) std::quick_exit(0);  // some loads are slow to cancel
  if (!loaded && loaded.error().code == ErrorCode::kCancelled) return {};
  return loaded;
}

}  // namespace

int RunDaemon(const DaemonOptions& options) {
  if (const auto level = log::ParseLevel(options.settings.Text("log.level"))) log::SetLevel(*level);
  if (const auto format = log::ParseFormat(options.settings.Text("log.format"))) log::SetFormat(*format);
  BlockStopSignals();
  RaiseDescriptorLimit();
  if (Status served = Serve(options); !served) {
    log::Error("{}", served.error().message);
    return 1;
  }
  return 0;
}

}  // namespace inferflux::apps
