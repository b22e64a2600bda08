// From a path to a model that answers: opens the file, walks the candidates until one engine loads, starts its step
// loop.
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
  std::string requested_backend = "auto";  // the chain to try (target.h), in the user's own words
  int32_t context = 0;                     // tokens a sequence may have; 0: the model's own
  std::string format;                      // gguf or huggingface: what must lie there; empty: whatever does
  BackendConfig config;                    // the model's own words; then the rules', then those for all
  std::vector<BackendRule> rules;
  BackendConfig shared;
  BackendConfig shared_changes;  // of `shared`, what someone set: a backend that cannot use it is warned about
  int32_t max_batch_tokens = 0;  // of one step; 0: what the engine does best
  int32_t max_queued = 0;        // requests that may wait; 0: the scheduler's default
  std::shared_ptr<LoadProgress> progress;  // written to where it is given
  scheduler::StepGoal goal = scheduler::StepGoal::kThroughput;
  std::string draft;                 // file of a model with the same tokens, for speculative decoding; empty: none
  std::string speculation = "auto";  // of requests that do not say: auto, none, prompt_lookup or draft
  int32_t max_draft_tokens = 4;      // draft tokens a step
  std::stop_token stop = {};         // calls the load off: kCancelled
  scheduler::SessionOptions sessions = {};  // its fingerprint is filled in
  metrics::Registry* metrics = nullptr;     // lent; must outlive the model. Null: nothing is counted
};

// "cuda (native): why; cpu (native): why".
std::string JoinReasons(std::span<const BackendAttempt> attempts);

// Returns when the model is ready: weights loaded, one warm-up step run. Takes as long as that takes; call it off the
// threads that serve. The error says for every candidate why it was not it.
Result<std::shared_ptr<const ServedModel>> LoadModel(const BackendFactory& factory, const LoadRequest& request);

}  // namespace inferflux::serving
