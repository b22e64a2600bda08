#include "worker/service/worker_main.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/host_memory.h"
#include "base/log.h"
#include "base/usable_cores.h"
#include "base/version/version.h"
#include "collective/mpi/mpi_job.h"
#include "command_line/stop_signals.h"
#include "config/resolve.h"
#include "net/server.h"
#include "serving/backends/device_choice.h"
#include "serving/backends/rank_job.h"
#include "serving/models/load_model.h"
#include "session_store/open_store.h"
#include "worker/contract/schema.h"
#include "worker/memory_check.h"
#include "worker/service/execute.h"
#include "worker/service/pool_link.h"
#include "worker/service/worker_service.h"

namespace inferflux::worker {
namespace {

using config::Settings;
using Milliseconds = std::chrono::milliseconds;

struct WorkerOptions {
  Settings settings;
  config::ModelSetting model;
  Token token;
  std::optional<net::ServerAddress> callback;
};

Result<WorkerOptions> ReadOptions(const config::FlagValues& flags) {
  auto settings = config::Resolve(flags, config::ReadEnvironment(environ));
  if (!settings) return Forward(settings);
  if (settings->models().size() != 1) {
    return Fail(ErrorCode::kInvalidArgument, "a worker serves one model, and {} are set; use --model FILE",
                settings->models().size());
  }
  WorkerOptions out{.settings = std::move(*settings), .model = {}, .token = {}, .callback = {}};
  out.model = out.settings.models().front();
  const std::string& token_file = out.settings.Text("worker.token_file");
  if (!token_file.empty()) {
    auto token = Token::ReadFile(token_file);
    if (!token) return Forward(token);
    out.token = std::move(*token);
  }
  const std::string& host = out.settings.Text("worker.host");
  if (!out.token.required() && !IsLoopback(host)) {
    return Fail(ErrorCode::kInvalidArgument,
                "worker.host {} lets other machines in, and there is no token: set worker.token_file, or listen on "
                "127.0.0.1",
                host);
  }
  const std::string& callback = out.settings.Text("worker.callback_url");
  if (!callback.empty()) {
    auto address = net::ParsePlainAddress(callback);
    if (!address) return Forward(address, "worker.callback_url");
    out.callback = std::move(*address);
  }
  return out;
}

serving::LoadRequest LoadRequestOf(const WorkerOptions& options, std::stop_token stop) {
  const Settings& settings = options.settings;
  serving::LoadRequest out;
  out.id = options.model.id;
  out.path = options.model.path;
  out.requested_backend = options.model.backend.empty() ? settings.Words("runtime.backend") : options.model.backend;
  out.context =
      options.model.context > 0 ? options.model.context : static_cast<int32_t>(settings.Integer("runtime.context"));
  out.format = options.model.format;
  out.config = options.model.config;
  out.shared = settings.backend_defaults();
  out.shared_changes = settings.backend_changes();
  out.max_batch_tokens = static_cast<int32_t>(settings.Integer("runtime.max_batch_tokens"));
  out.max_running = static_cast<int32_t>(settings.Integer("runtime.max_running"));
  out.max_queued = static_cast<int32_t>(settings.Integer("runtime.max_queue"));
  out.goal =
      settings.Text("runtime.goal") == "latency" ? scheduler::StepGoal::kLatency : scheduler::StepGoal::kThroughput;
  out.draft = options.model.draft;
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

serving::ExposurePolicy PolicyOf(const Settings& settings) {
  return {.prefer_native = settings.Switch("runtime.backend_exposure.prefer_native"),
          .allow_llama_fallback = settings.Switch("runtime.backend_exposure.allow_llama_fallback"),
          .priority = settings.Words("runtime.backend_priority")};
}

// Who starts this program has chosen its engine, so `auto` leads to it, whatever device it has.
std::vector<serving::EngineEntry> Automatic(std::vector<serving::EngineEntry> engines) {
  for (serving::EngineEntry& engine : engines) engine.automatic = true;
  return engines;
}

struct LoadFailure {
  WorkerErrorCode code = WorkerErrorCode::kModelLoadFailed;
  int exit_code = kLoadFailed;
  std::string reason;
};

// One worker: from its settings to its end.
class Worker {
 public:
  // `world`: the ranks of the job of which this is rank 0; null: mpirun did not start this process. `stopping`: see
  // JoinMpiJob.
  Worker(WorkerOptions options, const MakeEngines& engines, std::shared_ptr<collective::Collective> world,
         std::atomic<bool>& stopping)
      : options_(std::move(options)),
        world_(std::move(world)),
        stopping_(stopping),
        status_(options_.settings.Text("worker.id"), options_.model.path),
        pool_(Threads()),
        factory_(Automatic(engines(pool_)), PolicyOf(options_.settings)),
        service_{.status = status_, .token = options_.token, .shut_down = [] { RequestStop(); }} {}

  int Run() {
    if (Status listening = Listen(); !listening) {
      log::Error("{}", listening.error().message);
      return kCannotServe;
    }
    std::optional<PoolLink> link;
    if (options_.callback) {
      const Milliseconds heartbeat(1000 * options_.settings.Integer("worker.heartbeat_seconds"));
      link.emplace(status_,
                   PoolLinkOptions{.callback = *options_.callback, .token = options_.token, .heartbeat = heartbeat},
                   [this] { End(kNoPool); });
    }
    std::thread loader([this] { Load(); });
    WaitForStop();
    RestoreStopSignals();
    stopping_ = true;
    status_.SetDraining();
    stop_load_.request_stop();
    Drain();
    link.reset();
    server_->Stop(Milliseconds(100));
    loader.join();
    if (const auto model = status_.model()) model->scheduler->Stop();
    service_.preparation.join();
    return exit_code_;
  }

 private:
  int Threads() const {
    const auto threads = static_cast<int>(options_.settings.Integer("runtime.threads"));
    if (threads > 0) return threads;
    const config::BackendConfig config =
        config::MergeBackendConfig(options_.model.config, options_.settings.backend_defaults());
    const int ranks = config.tensor_parallel.value_or(1) * config.pipeline_parallel.value_or(1);
    return std::max(1, UsableCores() / ranks);  // those that it starts have the others
  }

  void End(int code) {
    exit_code_ = code;
    RequestStop();
  }

  Status Listen() {
    net::ServerOptions net;
    net.host = options_.settings.Text("worker.host");
    net.port = static_cast<uint16_t>(options_.settings.Integer("worker.port"));
    net.io_threads = 1;
    net.max_body_bytes = size_t{256} << 20;     // a prompt of 16 million tokens, as numbers
    net.write_timeout = Milliseconds(120'000);  // the pool stops reading while its own client does
    net.error_response = [](int status, std::string_view message, std::string_view) {
      const auto code = status < 500 ? WorkerErrorCode::kInvalidRequest : WorkerErrorCode::kInternal;
      return net::Response(status, "application/json", ToText(ErrorOf(code, std::string(message))));
    };
    const std::string host = net.host;
    auto server = net::Server::Start(std::move(net), MakeWorkerRoutes(service_));
    if (!server) return Forward(server);
    server_ = std::move(*server);
    const bool v6 = host.find(':') != std::string::npos;
    status_.SetListening(fmt::format("http://{}:{}", v6 ? "[" + host + "]" : host, server_->port()));
    NameLines({});
    log::Info("worker {} listens on {}", status_.worker_id(), status_.uri());
    return {};
  }

  // Each line of the log says whose it is; `device` is empty until the model is loaded.
  void NameLines(const std::string& device) const {
    std::vector<log::Field> fields{{"worker_id", status_.worker_id()},
                                   {"model", options_.model.id},
                                   {"port", std::to_string(server_->port()), true}};
    if (!device.empty()) fields.push_back({"device", device});
    log::SetProcessFields(std::move(fields));
  }

  void Load() {
    const auto failure = TryLoad();
    if (!failure) return;
    log::Error("{}", failure->reason);
    status_.SetFailed(failure->code, failure->reason);
    End(failure->exit_code);
  }

  std::optional<LoadFailure> TryLoad() {
    serving::LoadRequest request = LoadRequestOf(options_, stop_load_.get_token());
    const auto weights = WeightBytes(request.path);
    if (!weights) return LoadFailure{.reason = weights.error().message};
    auto store = session_store::OpenStore(request.sessions.store_url, request.sessions.store_key_file);
    if (!store) return LoadFailure{.reason = store.error().message};
    request.sessions.store = std::move(*store);
    request.progress = std::make_shared<serving::LoadProgress>();
    request.rank_job = std::make_shared<serving::RankJob>();
    request.rank_job->world = world_;
    request.rank_job->on_lost = [this](const Error& why) {
      log::Error("the model is lost with one of its ranks: {}", why.message);
      End(kLostRank);
    };
    status_.SetLoading(request.progress, *weights);
    if (auto failure = TestDevice(request)) return failure;
    if (auto failure = PlanMemory(*weights, request)) return failure;
    auto model = serving::LoadModel(factory_, request);
    if (model) {
      status_.SetServing(std::move(*model));
      NameLines(status_.MakeReady().backend);
      return std::nullopt;
    }
    if (model.error().code == ErrorCode::kCancelled) return std::nullopt;
    return LoadFailure{.reason = model.error().message};
  }

  // The first engine that would be tried computes something small.
  std::optional<LoadFailure> TestDevice(const serving::LoadRequest& request) const {
    const auto candidates = factory_.Candidates(request.requested_backend);
    if (!candidates) return LoadFailure{.reason = candidates.error().message};
    const auto first = std::ranges::find_if(*candidates, [](const auto& each) { return each.engine != nullptr; });
    if (first == candidates->end() || !first->engine->self_test) return std::nullopt;
    const auto config = serving::ConfigFor(request.config, {}, request.shared, first->target, first->provider);
    const auto device = serving::ChooseDevice(*first->engine, config.device.value_or(""));
    if (!device) return std::nullopt;  // the load fails with that, or goes to the next engine
    const Status right = first->engine->self_test(*device);
    if (right) return std::nullopt;
    return LoadFailure{WorkerErrorCode::kDeviceError, kDeviceFailed, right.error().message};
  }

  // A budget bounds what the keys and values may take.
  std::optional<LoadFailure> PlanMemory(int64_t weights, serving::LoadRequest& request) const {
    const int64_t budget = options_.settings.Bytes("worker.memory_budget");
    const int64_t free = ReadHostMemory().free;
    const int64_t available = budget > 0 ? std::min(budget, free) : free;
    int64_t kv = request.config.kv_budget.value_or(request.shared.kv_budget.value_or(0));
    const Status enough = CheckMemory(weights, kv, available, budget > 0 ? "worker.memory_budget" : "this machine");
    if (!enough) return LoadFailure{WorkerErrorCode::kInsufficientMemory, kTooLittleMemory, enough.error().message};
    if (budget > 0 && kv == 0) {
      kv = (available - NeededBytes(weights, 0)) * 10 / 11;
      request.config.kv_budget = std::max<int64_t>(kv, 1);
    }
    return std::nullopt;
  }

  // Answers go on; new requests are refused by the state.
  void Drain() const {
    const auto grace = std::chrono::seconds(options_.settings.Integer("worker.grace_seconds"));
    const auto until = std::chrono::steady_clock::now() + grace;
    log::Info("worker {} stops; {} requests run", status_.worker_id(), status_.answering.load());
    while (status_.answering > 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(Milliseconds(5));
    }
  }

  const WorkerOptions options_;
  const std::shared_ptr<collective::Collective> world_;
  std::atomic<bool>& stopping_;
  WorkerStatus status_;
  ThreadPool pool_;
  const serving::BackendFactory factory_;
  WorkerService service_;
  std::unique_ptr<net::Server> server_;
  std::stop_source stop_load_;
  std::atomic<int> exit_code_{0};
};

// Threads of a rank of mpirun's job.
int RankThreads(const config::FlagValues& flags) {
  const auto settings = config::Resolve(flags, config::ReadEnvironment(environ));
  const auto threads = settings ? static_cast<int>(settings->Integer("runtime.threads")) : 0;
  return threads > 0 ? threads : UsableCores();
}

}  // namespace

int WorkerMain(const std::string& program, int argc, const char* const* argv, const MakeEngines& engines,
               std::span<const engine::NativeBackend> ranked) {
  CommandLine app(
      program,
      "Runs one model for an InferFlux pool, or alone.\n\n"
      "Every setting can be a flag, an environment variable (--worker-port is INFERFLUX_WORKER_PORT) or a key\n"
      "of a YAML file (worker: {port: 9000}), in this order.",
      kVersion);
  config::FlagValues flags;
  bool print_config = false;
  bool print_contract = false;
  app.AddPrinters();
  app.AddFlag("--print-config", print_config, "print every setting, its value and where it came from, and exit");
  app.AddFlag("--print-contract", print_contract, "print the JSON schema of the messages to and from a pool, and exit");
  config::AddFlags(app, config::kWorker, flags);
  if (const auto ended = app.Parse(argc, argv)) return *ended;
  if (print_contract) {
    fmt::print("{}", ContractSchema());
    return 0;
  }
  const auto stopping = std::make_shared<std::atomic<bool>>(false);
  auto world = collective::JoinMpiJob(stopping);
  if (!world) {
    fmt::print(stderr, "{}: {}\n", program, world.error().message);
    return kCannotServe;
  }
  if (*world && (*world)->rank() > 0) return serving::RunRank(*world, RankThreads(flags), ranked, kLostRank);
  auto options = ReadOptions(flags);
  if (!options) {
    fmt::print(stderr, "{}: {}\n", program, options.error().message);
    return kUsageError;
  }
  if (print_config) {
    fmt::print("{}", options->settings.Describe(config::kWorker));
    return 0;
  }
  if (const auto level = log::ParseLevel(options->settings.Text("log.level"))) log::SetLevel(*level);
  if (const auto format = log::ParseFormat(options->settings.Text("log.format"))) log::SetFormat(*format);
  BlockStopSignals();
  const int code = Worker(std::move(*options), engines, *world, *stopping).Run();
  if (*world) serving::EndRanks(**world);
  return code;
}

}  // namespace inferflux::worker
