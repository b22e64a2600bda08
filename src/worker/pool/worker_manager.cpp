#include "worker/pool/worker_manager.h"

#include <sched.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/host_memory.h"
#include "base/log.h"
#include "base/usable_cores.h"
#include "worker/contract/codec.h"
#include "worker/memory_check.h"
#include "worker/pool/worker_programs.h"
#include "worker/remote/remote_scheduler.h"

namespace inferflux::worker {
namespace asio = boost::asio;
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kPoll{20};
constexpr char kCallbackPath[] = "/workers";

std::string BackendName(const serving::EngineEntry& engine) {
  return fmt::format("{} ({})", serving::Traits(engine.target).name, serving::ProviderName(engine.provider));
}

// The cores of this process's affinity mask.
std::vector<std::pair<int, int>> UnusedCores() {
  std::vector<std::pair<int, int>> out;
#ifdef __linux__
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return out;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) out.emplace_back(core, 0);
  }
#endif
  return out;
}

std::string ProgramPath(const std::string& directory, const std::string& suffix) {
  return (fs::path(directory.empty() ? OwnDirectory() : directory) / ("inferflux-worker-" + suffix)).string();
}

net::Response Empty(int status) { return net::Response(status, "application/json", "{}"); }

}  // namespace

WorkerManager::WorkerManager(PoolOptions options, metrics::Registry& metrics, Token token)
    : options_(std::move(options)),
      metrics_(metrics),
      token_(std::move(token)),
      work_(asio::make_work_guard(io_)),
      cores_(UnusedCores()),
      thread_([this] { io_.run(); }) {}

Result<std::unique_ptr<WorkerManager>> WorkerManager::Start(PoolOptions options, metrics::Registry& metrics) {
  auto token = Token::Random();
  if (!token) return Forward(token);
  std::unique_ptr<WorkerManager> out(new WorkerManager(std::move(options), metrics, std::move(*token)));
  if (Status listening = out->Listen(); !listening) return Forward(listening);
  return out;
}

WorkerManager::~WorkerManager() {
  std::vector<std::shared_ptr<ManagedWorker>> workers;
  {
    const std::lock_guard lock(mutex_);
    workers = workers_;
  }
  for (const auto& worker : workers) worker->Retire();
  while (!std::ranges::all_of(workers, [](const auto& worker) { return worker->ended(); })) {
    std::this_thread::sleep_for(kPoll);
  }
  if (callbacks_) callbacks_->Stop(std::chrono::milliseconds(0));
  work_.reset();
  io_.stop();
  thread_.join();
}

Status WorkerManager::Listen() {
  net::ServerOptions net;
  net.io_threads = 1;
  net.max_body_bytes = 1 << 20;
  auto server = net::Server::Start(std::move(net), CallbackRoutes());
  if (!server) return Forward(server);
  callbacks_ = std::move(*server);
  callback_url_ = fmt::format("http://127.0.0.1:{}{}", callbacks_->port(), kCallbackPath);
  return {};
}

net::Router WorkerManager::CallbackRoutes() {
  net::Router out;
  const auto add = [&]<class T>(const char* path, void (ManagedWorker::*take)(const T&)) {
    out.Add("POST", std::string(kCallbackPath) + path,
            [this, take](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
              net::Response answer = Empty(200);
              const auto message = FromText<T>(request.body);
              if (!token_.Admits(request)) {
                answer = Empty(401);
              } else if (!message) {
                log::Warning("a worker's message breaks the contract: {}", message.error().Joined());
                answer = Empty(400);
              } else if (const auto worker = Find(message->worker_id)) {
                ((*worker).*take)(*message);
              } else {
                answer = Empty(404);
              }
              co_await writer.Send(std::move(answer));
            });
  };
  add("/ready", &ManagedWorker::OnReady);
  add("/heartbeat", &ManagedWorker::OnHeartbeat);
  add("/deregister", &ManagedWorker::OnDeregistration);
  return out;
}

std::vector<serving::EngineEntry> WorkerManager::WithPrograms(std::vector<serving::EngineEntry> engines) const {
  for (serving::EngineEntry& engine : engines) {
    if (!engine.make) continue;
    const std::string suffix = ProgramSuffix(engine.target, engine.provider);
    const std::string path = ProgramPath(options_.directory, suffix);
    std::error_code failed;
    if (!suffix.empty() && fs::exists(path, failed)) continue;
    engine.make = {};
    engine.why_absent = suffix.empty() ? fmt::format("no worker program runs {}", BackendName(engine))
                                       : fmt::format("there is no worker program {}; build inferflux-workers", path);
  }
  return engines;
}

serving::EngineStarter WorkerManager::Starter() {
  return [this](const serving::EngineEntry& engine, const serving::EngineRequest& engine_request,
                const serving::LoadRequest& request) { return StartEngine(engine, engine_request, request); };
}

// As many cores as are each worker's share, those that the fewest workers use.
std::vector<int> WorkerManager::TakeCores(const serving::EngineEntry& engine) {
  if (serving::Traits(engine.target).gpu_accelerated || options_.expected < 2 || cores_.empty()) return {};
  const size_t share = std::max<size_t>(1, cores_.size() / static_cast<size_t>(options_.expected));
  std::ranges::stable_sort(cores_, {}, &std::pair<int, int>::second);
  std::vector<int> out;
  for (size_t i = 0; i < std::min(share, cores_.size()); ++i) {
    out.push_back(cores_[i].first);
    ++cores_[i].second;
  }
  return out;
}

WorkerSpec WorkerManager::MakeSpec(const serving::EngineEntry& engine, const serving::EngineRequest& engine_request,
                                   const serving::LoadRequest& request) {
  const std::string suffix = ProgramSuffix(engine.target, engine.provider);
  WorkerSpec out;
  out.number = next_number_++;
  out.id = fmt::format("{}-{}", suffix, out.number);
  out.model = request.id;
  out.backend = BackendName(engine);
  out.times = options_.times;
  out.token = token_;
  out.process.program = ProgramPath(options_.directory, suffix);
  const auto seconds = [](std::chrono::milliseconds time) {
    return std::to_string(std::max<int64_t>(1, time.count() / 1000));
  };
  const config::BackendConfig& config = engine_request.config;
  const int32_t ranks = config.tensor_parallel.value_or(1) * config.pipeline_parallel.value_or(1);
  const bool launched = ranks > 1 && !options_.rank_launcher.empty();
  if (launched) {
    out.process.arguments.assign(options_.rank_launcher.begin() + 1, options_.rank_launcher.end());
    out.process.arguments.insert(out.process.arguments.end(), {"-n", std::to_string(ranks), out.process.program});
    out.process.program = FindProgram(options_.rank_launcher.front());
    out.process.secret_on_input = true;
  }
  std::ranges::move(FlagsFor(request, out.id), std::back_inserter(out.process.arguments));
  for (const auto& [flag, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"--worker-id", out.id},
           {"--port", "0"},
           {"--callback-url", callback_url_},
           {"--token-file", launched ? WorkerProcess::kInputPath : WorkerProcess::kSecretPath},
           {"--worker-heartbeat-seconds", seconds(options_.times.heartbeat)},
           {"--worker-grace-seconds", std::to_string(options_.times.grace.count() / 1000)},
           {"--runtime-threads", std::to_string(options_.threads)},
           {"--log-level", options_.log_level},
           {"--log-format", options_.log_format}}) {
    out.process.arguments.emplace_back(flag);
    out.process.arguments.push_back(value);
  }
  out.process.environment = EnvironmentForWorkers();
  out.process.environment.push_back("INFERFLUX_MODELS=" + ModelSettingFor(engine, engine_request, request));
  out.process.secret = token_.secret();
  if (!launched) out.process.cores = TakeCores(engine);  // the launcher binds ranks, on hosts that it knows
  return out;
}

Result<serving::StartedEngine> WorkerManager::StartEngine(const serving::EngineEntry& engine,
                                                          const serving::EngineRequest& engine_request,
                                                          const serving::LoadRequest& request) {
  if (!serving::Traits(engine.target).gpu_accelerated) {
    const auto weights = WeightBytes(request.path);
    if (!weights) return Forward(weights);
    const int64_t kv = engine_request.config.kv_budget.value_or(0);
    const Status fits =
        CheckMemory(*weights * options_.count, kv * options_.count, ReadHostMemory().free, "this machine");
    if (!fits) return Forward(fits);
  }
  DropEnded();
  const auto workers = std::make_shared<ModelWorkers>(request.id, metrics_);
  {
    const std::lock_guard lock(mutex_);
    for (int32_t i = 0; i < options_.count; ++i) {
      const auto on_lost = [weak = std::weak_ptr(workers)](int number) {
        if (const auto all = weak.lock()) all->Forget(number);
      };
      workers->Add(std::make_shared<ManagedWorker>(io_, MakeSpec(engine, engine_request, request), metrics_, on_lost),
                   i < options_.prefill);
      workers_.push_back(workers->workers().back());
    }
  }
  for (const auto& worker : workers->workers()) asio::co_spawn(io_, worker->Supervise(), asio::detached);
  if (Status ready = AwaitReady(*workers, request); !ready) {
    workers->Stop();
    DropEnded();
    return Forward(ready);
  }
  serving::StartedEngine out;
  out.info = *workers->workers().front()->engine();
  for (const auto& worker : workers->workers()) out.workers.push_back(worker->id());
  metrics::ModelMetrics counters;
  if (request.metrics != nullptr) counters = metrics::ModelMetrics(*request.metrics, request.id, out.info.backend);
  out.scheduler = std::make_shared<RemoteScheduler>(io_, workers, out.info, std::move(counters));
  return out;
}

Status WorkerManager::AwaitReady(const ModelWorkers& workers, const serving::LoadRequest& request) const {
  for (;;) {
    bool all = true;
    double least = 1;
    for (const auto& worker : workers.workers()) {
      if (const auto failure = worker->first_failure()) return tl::make_unexpected(*failure);
      if (worker->link()) continue;
      all = false;
      const auto progress = worker->View().progress;
      least = std::min(least, progress ? progress->fraction : 0.0);
    }
    if (all) return {};
    if (request.progress) request.progress->Report(least);
    if (request.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "the load was cancelled");
    std::this_thread::sleep_for(kPoll);
  }
}

std::shared_ptr<ManagedWorker> WorkerManager::Find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  for (const auto& worker : workers_) {
    if (worker->id() == id) return worker;
  }
  return nullptr;
}

void WorkerManager::DropEnded() {
  const std::lock_guard lock(mutex_);
  std::erase_if(workers_, [](const auto& worker) { return worker->ended(); });
}

std::vector<WorkerView> WorkerManager::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<WorkerView> out;
  for (const auto& worker : workers_) {
    if (!worker->ended()) out.push_back(worker->View());
  }
  return out;
}

Status WorkerManager::Drain(const std::string& id) {
  const auto worker = Find(id);
  if (!worker) return Fail(ErrorCode::kNotFound, "there is no worker '{}'", id);
  worker->Drain();
  return {};
}

Status WorkerManager::Restart(const std::string& id) {
  const auto worker = Find(id);
  if (!worker) return Fail(ErrorCode::kNotFound, "there is no worker '{}'", id);
  worker->Restart();
  return {};
}

Result<std::vector<std::string>> WorkerManager::Log(const std::string& id) const {
  const auto worker = Find(id);
  if (!worker) return Fail(ErrorCode::kNotFound, "there is no worker '{}'", id);
  return worker->Log();
}

}  // namespace inferflux::worker
