#include "serving/backends/rank_job.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "collective/message.h"
#include "collective/shared_memory/rank_processes.h"
#include "collective/shared_memory/shared_memory_collective.h"
#include "model/families/family.h"
#include "model/loading/model_source.h"

namespace inferflux::serving {
namespace {

constexpr const char* kRankProgram = "inferflux-rank";

collective::MessageWriter MessageOf(const RankLoad& load) {
  collective::MessageWriter out;
  out.Put(load.backend);
  out.Put(load.path);
  out.Put(load.context);
  out.Put(load.kv_dtype);
  out.Put(load.kv_bytes);
  out.Put(load.repack);
  out.Put(load.parallelism.tensor);
  out.Put(load.parallelism.pipeline);
  out.Put(load.collectives);
  return out;
}

Result<RankLoad> LoadOf(collective::MessageReader message) {
  RankLoad out;
  out.backend = message.Text();
  out.path = message.Text();
  out.context = message.Int();
  out.kv_dtype = message.Text();
  out.kv_bytes = message.Number();
  out.repack = message.Number() != 0;
  out.parallelism.tensor = message.Int();
  out.parallelism.pipeline = message.Int();
  out.collectives = message.Text();
  if (auto done = message.Done(); !done) return Forward(done);
  return out;
}

// Processes on this host, which end with the last use of their collective.
struct LocalRanks {
  std::unique_ptr<collective::RankProcesses> processes;
  std::unique_ptr<collective::Collective> own;

  ~LocalRanks() {
    if (processes) processes->Expect();
    if (own) EndRanks(*own);
    own.reset();
  }
};

Result<std::shared_ptr<collective::Collective>> StartProcesses(const std::shared_ptr<RankJob>& job,
                                                               const RankLoad& load, const ThreadPool& pool) {
  auto segment = collective::Segment::Create(load.parallelism.ranks());
  if (!segment) return Forward(segment);
  const auto ranks = std::make_shared<LocalRanks>();
  auto processes = collective::RankProcesses::Start(
      *segment, (std::filesystem::path(collective::OwnFolder()) / kRankProgram).string(),
      {"--threads", std::to_string(pool.workers())}, [job](const Error& why) {
        if (job && job->on_lost) job->on_lost(why);
      });
  if (!processes) return Forward(processes);
  ranks->processes = std::move(*processes);
  auto own = collective::SharedMemoryCollective::Join(*segment, 0);
  if (!own) return Forward(own);
  ranks->own = std::move(*own);
  return std::shared_ptr<collective::Collective>(ranks, ranks->own.get());
}

Result<std::shared_ptr<collective::Collective>> TakeWorld(const std::shared_ptr<RankJob>& job, const RankLoad& load) {
  if (job->world->size() != load.parallelism.ranks()) {
    return Fail(ErrorCode::kInvalidArgument,
                "this job was started with {} ranks, and the model is configured for {}: start as many as "
                "runtime.tensor_parallel or runtime.pipeline_parallel says",
                job->world->size(), load.parallelism.ranks());
  }
  if (job->taken.exchange(true)) {
    return Fail(ErrorCode::kResourceExhausted, "the ranks of this job already share another model");
  }
  return std::shared_ptr<collective::Collective>(job->world.get(),
                                                 [job](collective::Collective*) { job->taken = false; });
}

struct OpenedModel {
  std::shared_ptr<const model::ModelSource> source;
  model::ModelConfig config;
};

Result<OpenedModel> OpenModel(const RankLoad& load) {
  auto source = model::ModelSource::Open(load.path);
  if (!source) return Forward(source);
  auto config = model::ReadModelConfig(**source, load.context);
  if (!config) return Forward(config);
  return OpenedModel{std::move(*source), std::move(*config)};
}

Status FollowOne(const std::shared_ptr<collective::Collective>& ranks, const RankLoad& load, ThreadPool& pool,
                 std::span<const engine::NativeBackend> backends) {
  const auto backend = std::ranges::find(backends, load.backend, &engine::NativeBackend::name);
  auto opened = backend == backends.end()
                    ? Result<OpenedModel>(Fail(ErrorCode::kUnsupported, "no compute backend '{}' here", load.backend))
                    : OpenModel(load);
  if (!opened) return collective::Agree(*ranks, Forward(opened));  // as the others do before they load
  engine::EngineOptions options;
  options.context = load.context;
  options.kv_bytes = load.kv_bytes;
  options.kv_dtype = load.kv_dtype;
  options.device.pool = &pool;
  options.device.repack = load.repack;
  // Ranks on one host have a device each, where there are several.
  if (const size_t devices = backend->devices({.pool = &pool}).size(); devices > 1) {
    options.device.device = std::to_string(static_cast<size_t>(ranks->rank()) % devices);
  }
  options.parallelism = load.parallelism;
  options.ranks = ranks;
  options.collectives = load.collectives;
  return backend->follow(std::move(opened->config), std::move(opened->source), options);
}

}  // namespace

Result<std::shared_ptr<collective::Collective>> StartRanks(const std::shared_ptr<RankJob>& job, const RankLoad& load,
                                                           const ThreadPool& pool) {
  if (auto valid = collective::CheckRank(0, load.parallelism.ranks()); !valid) return Forward(valid);
  auto ranks = job && job->world ? TakeWorld(job, load) : StartProcesses(job, load, pool);
  if (!ranks) return ranks;
  RankLoad absolute = load;
  std::error_code failed;
  const auto path = std::filesystem::absolute(load.path, failed);
  if (!failed) absolute.path = path.string();
  if (auto sent = SendMessage(**ranks, MessageOf(absolute)); !sent) return Forward(sent);
  return ranks;
}

Status FollowRankZero(const std::shared_ptr<collective::Collective>& ranks, ThreadPool& pool,
                      std::span<const engine::NativeBackend> backends) {
  while (true) {
    auto message = collective::ReceiveMessage(*ranks, 0);
    if (!message) return Forward(message);
    const auto load = LoadOf(std::move(*message));
    if (!load) return Forward(load);
    if (load->backend.empty()) return {};
    // Rank 0 knows it too, and says what is next. After a failure of the ranks there is no next message.
    if (const Status done = FollowOne(ranks, *load, pool, backends); !done) {
      log::Warning("{}: {}", load->path, done.error().message);
    }
  }
}

int RunRank(const std::shared_ptr<collective::Collective>& world, int threads,
            std::span<const engine::NativeBackend> backends, int failed) {
  log::SetProcessFields({{"rank", std::to_string(world->rank()), true}});
  ThreadPool pool(threads);
  const Status done = FollowRankZero(world, pool, backends);
  if (done) return 0;
  log::Error("{}", done.error().message);
  std::_Exit(failed);
}

void EndRanks(collective::Collective& ranks) { (void)SendMessage(ranks, MessageOf({})); }

}  // namespace inferflux::serving
