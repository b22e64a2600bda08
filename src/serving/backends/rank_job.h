// The ranks of a model that several processes share: how rank 0 gets the others, and what they do.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "collective/collective.h"
#include "config/backend_config.h"
#include "engine/native/native_backends.h"
#include "model/shard.h"

namespace inferflux::serving {

// The job that this process is rank 0 of.
struct RankJob {
  // The ranks of a job that was started as one (mpirun), which share one model at a time. Null: the other ranks of each
  // model are processes that are started on this host (inferflux-rank).
  std::shared_ptr<collective::Collective> world;
  // Called when a rank has died or failed. The model that it shared answers nothing any more. Any thread; possibly more
  // than once.
  std::function<void(const Error&)> on_lost;
  std::atomic<bool> taken{false};  // the world, by a model
};

// What the other ranks need to load their parts of a model.
struct RankLoad {
  std::string backend;  // a compute backend's name; empty: there is no more to do
  std::string path;
  int32_t context = 0;
  std::string kv_dtype;
  int64_t kv_bytes = 0;  // of a rank
  bool repack = true;
  model::Parallelism parallelism;
  std::string collectives = "auto";
};

// kInvalidArgument if the job's world has another number of ranks; kResourceExhausted if another model has it.
Result<std::shared_ptr<collective::Collective>> StartRanks(const std::shared_ptr<RankJob>& job, const RankLoad& load,
                                                           const ThreadPool& pool);

// Runs a rank other than 0, until rank 0 says that there is no more to do. An error: why it ended otherwise.
Status FollowRankZero(const std::shared_ptr<collective::Collective>& ranks, ThreadPool& pool,
                      std::span<const engine::NativeBackend> backends);

// The whole life of a rank of mpirun's job other than 0: it computes with so many threads, and does not listen; signals
// end it at once. Returns 0. After a failure it logs the reason and ends the process with `failed`: mpirun ends the
// others.
int RunRank(const std::shared_ptr<collective::Collective>& world, int threads,
            std::span<const engine::NativeBackend> backends, int failed);

// Tells the ranks that follow that there is no more to do.
void EndRanks(collective::Collective& ranks);

}  // namespace inferflux::serving
