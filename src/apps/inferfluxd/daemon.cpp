#include "apps/inferfluxd/daemon.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "apps/console/embedded_model.h"
#include "apps/inferfluxd/banner.h"
#include "apps/inferfluxd/listeners.h"
#include "apps/inferfluxd/load_display.h"
#include "apps/inferfluxd/reload.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "collective/mpi/mpi_job.h"
#include "command_line/stop_signals.h"
#include "compute/cpu/kernels/select_isa.h"
#include "engine/native/native_backends.h"
#include "metrics/registry.h"
#include "server/api_server.h"
#include "serving/backends/built_in_engines.h"
#include "serving/backends/rank_job.h"
#include "serving/pool/model_pool.h"
#include "session_store/open_store.h"
#include "telemetry/span_exporter.h"
#include "worker/pool/worker_manager.h"

namespace inferflux::apps {
namespace {

using config::Settings;

constexpr std::chrono::milliseconds kFlushTime{3'000};  // for the last traces
constexpr std::chrono::milliseconds kLostTime{500};     // for the last errors, when a rank is lost

// Why a model lost its ranks, which ends the server: what starts it again starts them all.
class LostRank {
 public:
  void Set(const Error& why) {
    {
      const std::lock_guard lock(mutex_);
      if (!status_) return;
      status_ = tl::make_unexpected(why);
    }
    log::Error("a model is lost with one of its ranks: {}", why.message);
    RequestStop();
  }
  Status status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  mutable std::mutex mutex_;
  Status status_;
};

// Compute threads of this process: its cores are shared with the other ranks that it starts.
int ComputeThreads(const Settings& settings) {
  const auto threads = static_cast<int>(settings.Integer("runtime.threads"));
  if (threads > 0) return threads;
  const int64_t ranks = settings.Integer("runtime.tensor_parallel") * settings.Integer("runtime.pipeline_parallel");
  return static_cast<int>(std::max<int64_t>(1, UsableCores() / ranks));
}

// Each stream is a file descriptor, and the usual limit of 1,024 is meant for programs that use select().
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
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
  out.max_running = static_cast<int32_t>(settings.Integer("runtime.max_running"));
  out.max_queued = static_cast<int32_t>(settings.Integer("runtime.max_queue"));
  out.goal =
      settings.Text("runtime.goal") == "latency" ? scheduler::StepGoal::kLatency : scheduler::StepGoal::kThroughput;
  out.speculation = settings.Text("runtime.speculation");
  out.max_draft_tokens = static_cast<int32_t>(settings.Integer("runtime.max_draft_tokens"));
  out.sessions = {.memory_bytes = settings.Bytes("runtime.session_memory"),
                  .directory = settings.Text("runtime.session_dir"),
                  .disk_bytes = settings.Bytes("runtime.session_disk"),
                  .store_url = settings.Text("runtime.session_store"),
                  .store_key_file = settings.Text("runtime.session_store_key_file")};
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
std::string UrlOf(const std::string& scheme, const std::string& host, uint16_t port) {
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(host, no_address);
  if (no_address) return fmt::format("{}://{}:{}", scheme, host, port);
  if (address.is_unspecified()) return fmt::format("{}://{}:{}", scheme, address.is_v6() ? "[::1]" : "127.0.0.1", port);
  return address.is_v6() ? fmt::format("{}://[{}]:{}", scheme, host, port)
                         : fmt::format("{}://{}:{}", scheme, host, port);
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

serving::ExposurePolicy Policy(const Settings& settings) {
  return {.prefer_native = settings.Switch("runtime.backend_exposure.prefer_native"),
          .allow_llama_fallback = settings.Switch("runtime.backend_exposure.allow_llama_fallback"),
          .priority = settings.Words("runtime.backend_priority")};
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

server::PreparationLimits PreparationLimitsOf(const Settings& settings) {
  return {.threads = static_cast<int>(settings.Integer("limits.preparation_threads")),
          .cpu = std::chrono::milliseconds(settings.Integer("limits.preparation_cpu_ms")),
          .time = std::chrono::seconds(settings.Integer("limits.preparation_seconds"))};
}

worker::PoolOptions WorkerPoolOptions(const Settings& settings) {
  using std::chrono::seconds;
  worker::PoolOptions out;
  out.directory = settings.Text("workers.directory");
  out.count = static_cast<int32_t>(settings.Integer("workers.count"));
  out.prefill = static_cast<int32_t>(settings.Integer("workers.prefill"));
  out.threads = static_cast<int32_t>(settings.Integer("runtime.threads"));
  std::istringstream launcher(settings.Text("workers.rank_launcher"));
  out.rank_launcher.assign(std::istream_iterator<std::string>(launcher), {});
  out.expected = out.count * std::max<int32_t>(1, static_cast<int32_t>(settings.models().size()));
  out.log_level = settings.Text("log.level");
  out.log_format = settings.Text("log.format");
  out.times = {.start = seconds(settings.Integer("workers.start_seconds")),
               .heartbeat = seconds(settings.Integer("workers.heartbeat_seconds")),
               .grace = seconds(settings.Integer("workers.grace_seconds"))};
  return out;
}

Status CheckLauncher(const Settings& settings) {
  if (settings.Text("workers.rank_launcher").empty() || !collective::MpiLibrary().empty()) return {};
  return Fail(ErrorCode::kUnsupported,
              "workers.rank_launcher needs programs that were built with MPI: ./run --with mpi, or -DENABLE_MPI=ON");
}

// Workers for prompts hand over KV through the session store, to the others.
Status CheckPrefill(const Settings& settings) {
  const int64_t prefill = settings.Integer("workers.prefill");
  const int64_t count = settings.Integer("workers.count");
  if (prefill > 0 && settings.Text("runtime.session_store").empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "workers.prefill needs runtime.session_store, such as a folder in /dev/shm");
  }
  if (prefill > 0 && prefill >= count) {
    return Fail(ErrorCode::kInvalidArgument,
                "workers.prefill is {}, and workers.count {}: at least one worker must generate", prefill, count);
  }
  return {};
}

// Whether standard error is a terminal, and the log is for people.
bool ForPerson(const Settings& settings) {
  const std::string& level = settings.Text("log.level");
  return ::isatty(STDERR_FILENO) == 1 && settings.Text("log.format") == "text" && (level == "info" || level == "debug");
}

void Announce(const Settings& settings, const Banner& banner) {
  if (ForPerson(settings)) {
    fmt::print(stderr, "\n{}\n", BannerText(banner));
  } else {
    log::Write(log::Level::kInfo, "ready", BannerFields(banner));
  }
}

// Serves until a signal arrives or the models cannot be loaded. `world`: the job's ranks; null: mpirun did not start
// this process.
Status Serve(const DaemonOptions& options, std::shared_ptr<collective::Collective> world, std::atomic<bool>& stopping) {
  const Settings& settings = options.settings;
  if (Status known = CheckChains(settings); !known) return known;
  auto rules = serving::MakeBackendRules(settings.backends());
  if (!rules) return Forward(rules);
  if (const auto note = compute::cpu::DescribeBuild(); !note.text.empty()) {
    log::Write(note.slower ? log::Level::kWarning : log::Level::kInfo, "cpu kernels: " + note.text);
  }
  auto access = AccessRulesOf(settings);
  if (!access) return Forward(access);
  ThreadPool compute(ComputeThreads(settings));
  metrics::Registry metrics;
  std::vector<serving::EngineEntry> engines = serving::BuiltInEngines(compute);
  std::unique_ptr<worker::WorkerManager> workers;
  if (settings.Switch("workers.enabled")) {
    if (Status able = CheckPrefill(settings); !able) return able;
    if (Status able = CheckLauncher(settings); !able) return able;
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
  auto store = session_store::OpenStore(defaults.sessions.store_url, defaults.sessions.store_key_file);
  if (!store) return Forward(store);
  defaults.sessions.store = std::move(*store);
  if (workers) defaults.start = workers->Starter();
  LostRank lost;
  defaults.rank_job = std::make_shared<serving::RankJob>();
  defaults.rank_job->world = std::move(world);
  defaults.rank_job->on_lost = [&lost](const Error& why) { lost.Set(why); };
  serving::ModelPool pool(factory, metrics, std::move(defaults), std::move(*pool_options));
  pool.SetPolicy(RoutingPolicyOf(settings));
  auto tls = LoadTls(settings);
  if (!tls) return Forward(tls);
  std::unique_ptr<telemetry::SpanExporter> exporter;
  if (const std::string& endpoint = settings.Text("telemetry.otlp_endpoint"); !endpoint.empty()) {
    auto started = telemetry::SpanExporter::Start(endpoint, settings.Text("telemetry.service_name"), metrics);
    if (!started) return Forward(started, "telemetry.otlp_endpoint");
    exporter = std::move(*started);
  }
  const bool needs_key = access->keys.required();
  net::ServerOptions net = NetOptions(settings, *tls, needs_key);
  const auto admin_net = AdminNetOptions(settings, net);
  auto server = server::ApiServer::Start(
      std::move(net), pool, metrics,
      {.access = std::move(*access),
       .page = settings.Switch("server.page"),
       .preparation = PreparationLimitsOf(settings),
       .workers = workers.get(),
       .admin_net = admin_net,
       .request_timeout = std::chrono::seconds(settings.Integer("server.request_timeout_seconds")),
       .tracing = {.exporter = exporter.get(),
                   .percent = static_cast<int>(settings.Integer("telemetry.sampling_percent"))},
       .store_file = settings.Text("server.store_file")});
  if (!server) return Forward(server);
  const std::string scheme = *tls ? "https" : "http";
  const std::string url = UrlOf(scheme, settings.Text("server.host"), (*server)->port());
  log::Info("listening on {}", url);
  if (const uint16_t port = (*server)->admin_port(); port != 0) {
    log::Info("administration and metrics on {}", UrlOf(scheme, settings.Text("server.admin_host"), port));
  }
  if (Status written = WritePortFile(options.port_file, url); !written) return written;

  Status loaded;
  std::thread loader([&] {
    {
      const LoadDisplay display(pool, ForPerson(settings));
      loaded = LoadModels(settings, pool, stop_loads.get_token());
    }
    if (stop_loads.stop_requested()) return;
    if (loaded) {
      (*server)->SetReady();
      Announce(settings, BannerOf(pool, url, settings.Switch("server.page"), needs_key));
    } else {
      RequestStop();
    }
  });
  Reloader reloader(options.settings, options.resolve_again, {**server, pool, *tls});
  while (WaitForSignal() == ProcessSignal::kReload) reloader.Reload();
  RestoreStopSignals();
  stopping = true;
  log::Info("stopping");
  stop_loads.request_stop();
  const Status whole = lost.status();
  (*server)->Stop(whole ? std::chrono::seconds(settings.Integer("server.grace_seconds")) : kLostTime);
  if (exporter) exporter->Stop(kFlushTime);
  loader.join();
  if (!pool.Loading().empty()) std::quick_exit(whole ? 0 : 1);  // some loads are slow to cancel
  if (!whole) return whole;
  if (!loaded && loaded.error().code == ErrorCode::kCancelled) return {};
  return loaded;
}

}  // namespace

int RunDaemon(const DaemonOptions& options) {
  if (const auto level = log::ParseLevel(options.settings.Text("log.level"))) log::SetLevel(*level);
  if (const auto format = log::ParseFormat(options.settings.Text("log.format"))) log::SetFormat(*format);
  const auto stopping = std::make_shared<std::atomic<bool>>(false);
  auto world = collective::JoinMpiJob(stopping);
  if (!world) {
    log::Error("{}", world.error().message);
    return 1;
  }
  if (*world && (*world)->rank() > 0) {
    return serving::RunRank(*world, ComputeThreads(options.settings), engine::NativeBackends(), 1);
  }
  BlockStopSignals();
  RaiseDescriptorLimit();
  const Status served = Serve(options, *world, *stopping);
  if (*world) serving::EndRanks(**world);
  if (!served) {
    log::Error("{}", served.error().message);
    return 1;
  }
  return 0;
}

}  // namespace inferflux::apps
