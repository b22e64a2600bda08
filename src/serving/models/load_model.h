// Loads a model from a path: opens the file, tries the candidates until one engine loads, and starts its scheduler
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/registry.h"
#include "scheduler/scheduler_thread.h"
#include "serving/backends/backend_factory.h"
#include "serving/backends/backend_rules.h"
#include "serving/models/load_progress.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

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
  int32_t max_queued = 0;                  // most waiting requests; 0: the scheduler's default
  std::shared_ptr<LoadProgress> progress;  // updated if given
  scheduler::StepGoal goal = scheduler::StepGoal::kThroughput;
  std::string draft;                 // file of a model with the same vocabulary, for speculative decoding; empty: none
  std::string speculation = "auto";  // default of requests: auto, none, prompt_lookup or draft
  int32_t max_draft_tokens = 4;      // draft tokens per step
  std::stop_token stop = {};         // cancels the load: kCancelled
  scheduler::SessionOptions sessions = {};  // LoadModel fills in the fingerprint
  metrics::Registry* metrics = nullptr;     // must outlive the model; null: nothing is counted
};

// "cuda (native): why; cpu (native): why".
std::string JoinReasons(std::span<const BackendAttempt> attempts);

// Returns when the model is ready: weights loaded, one warm-up step run. This may take long; do not call it on a thread
// that serves requests. The error gives the reason of every candidate.
Result<std::shared_ptr<const ServedModel>> LoadModel(const BackendFactory& factory, const LoadRequest& request);

}  // namespace inferflux::serving
