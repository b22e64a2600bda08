// Loads a model from a path: opens the file, tries the candidates until one engine loads, and starts its scheduler
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/registry.h"
#include "scheduler/scheduler_thread.h"
#include "serving/backends/backend_factory.h"
#include "serving/backends/backend_rules.h"
#include "serving/models/host_memory_need.h"
#include "serving/models/load_progress.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

// A keep-alive of a model that stays loaded until its memory is needed.
inline constexpr std::chrono::seconds kKeepLoaded = std::chrono::seconds::max();

// The keep-alive that a setting means: seconds; negative: kKeepLoaded.
constexpr std::chrono::seconds KeepAlive(int64_t seconds) {
  return seconds < 0 ? kKeepLoaded : std::chrono::seconds(seconds);
}

struct LoadRequest;

// An engine that is ready, and the scheduler that runs it.
struct StartedEngine {
  std::shared_ptr<scheduler::GenerationService> scheduler;
  engine::EngineInfo info;
  std::vector<std::string> workers = {};  // the processes that it runs in; empty: this one
};
// Starts a candidate somewhere else than in this process. The request's config is what holds for this candidate.
using EngineStarter =
    std::function<Result<StartedEngine>(const EngineEntry&, const EngineRequest&, const LoadRequest&)>;

struct LoadRequest {
  std::string id;
  std::string path;
  std::string requested_backend = "auto";  // the chain to try (target.h), as the user wrote it
  int32_t context = 0;                     // most tokens in a sequence; 0: the model's own limit
  std::string format;                      // gguf or huggingface: the required format; empty: any format
  BackendConfig config;                    // the model's own settings; next come the rules, then `shared`
  std::vector<BackendRule> rules;
  BackendConfig shared;
  BackendConfig shared_changes;            // the part of `shared` that was configured; warn if a backend cannot use it
  int32_t max_batch_tokens = 0;            // per step; 0: the engine's best step size
  int32_t max_running = 0;                 // most requests that run at once; 0: the engine's limit
  int32_t max_queued = 0;                  // most waiting requests; 0: the scheduler's default
  std::shared_ptr<LoadProgress> progress;  // updated if given
  scheduler::StepGoal goal = scheduler::StepGoal::kThroughput;
  std::string draft;                 // file of a model with the same vocabulary, for speculative decoding; empty: none
  std::string speculation = "auto";  // default of requests: auto, none, prompt_lookup or draft
  int32_t max_draft_tokens = 4;      // draft tokens per step
  EngineStarter start = {};          // empty: in this process
  std::shared_ptr<RankJob> rank_job = nullptr;  // where the model's other ranks come from; null: this host
  std::stop_token stop = {};                    // cancels the load: kCancelled
  scheduler::SessionOptions sessions = {};      // LoadModel fills in the fingerprint
  metrics::Registry* metrics = nullptr;         // must outlive the model; null: nothing is counted
  // For a pool of models.
  bool pinned = false;                                  // leaves only when it is unloaded
  std::optional<std::chrono::seconds> keep_alive = {};  // of a model without users (KeepAlive); none: the pool's
  // Called with each engine that is tried, before it: returns the bytes that the model may use for KV, or why it has no
  // room, which ends the load. Empty: the engine plans its KV from the free memory.
  std::function<Result<int64_t>(const HostMemoryNeed&)> reserve = {};
};

// "cuda (native): why; cpu (native): why".
std::string JoinReasons(std::span<const BackendAttempt> attempts);

// Returns when the model is ready: weights loaded, one warm-up step run. This may take long; do not call it on a thread
// that serves requests. The error gives the reason of every candidate.
Result<std::shared_ptr<const ServedModel>> LoadModel(const BackendFactory& factory, const LoadRequest& request);

}  // namespace inferflux::serving
