// The engines of this build, and the order in which a model is tried on them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "config/backend_config.h"
#include "engine/engine.h"
#include "formats/weight_layout/weight_layout.h"
#include "model/loading/model_source.h"
#include "serving/backends/rank_job.h"
#include "serving/backends/target.h"

namespace inferflux::serving {

using config::BackendConfig;

// runtime.backend_exposure
struct ExposurePolicy {
  bool prefer_native = true;         // our own engines before llama.cpp's
  bool allow_llama_fallback = true;  // use llama.cpp if we have no engine of our own, or if ours failed
  // runtime.backend_priority: the chain that replaces `auto`. `auto` inside it means every target, the highest device
  // rank first.
  std::string priority = "auto";
};

// The parameters of an engine's load.
struct EngineRequest {
  std::shared_ptr<const model::ModelSource> source;
  int32_t context = 0;  // most tokens in a sequence; 0: the model's own limit
  BackendConfig config;
  std::stop_token stop = {};                    // cancels the load: kCancelled
  std::shared_ptr<RankJob> rank_job = nullptr;  // where the model's other ranks come from; null: this host
};

// Creates an engine. Called on the thread that will step it.
using EngineMaker = std::function<Result<std::unique_ptr<engine::Engine>>(const EngineRequest&)>;

struct EngineEntry {
  Target target = Target::kCpu;
  Provider provider = Provider::kNative;
  EngineMaker make;  // empty: known, but missing from this build
  std::string why_absent;
  bool automatic = true;                                       // whether `auto` may lead to it
  std::function<std::vector<compute::Device>()> devices = {};  // what it computes on; queries the devices on each call
  std::function<Status(int32_t device)> self_test = {};        // computes something small there, and checks it
  formats::WeightLayouts weight_layouts = {};                  // layouts of checkpoints that it keeps unconverted
  std::string note;  // what users should know about this build of it; empty: nothing
};

// Why a candidate is not tried.
enum class Skip : uint8_t {
  kNone,       // the candidate is tried
  kAbsent,     // named by the user or the configured priority, but this build lacks it: its replacement is a fallback
  kForbidden,  // a switch forbids it: its replacement is not a fallback
  kUnnamed,    // `auto` skips it by rank: its replacement is not a fallback
};

// One engine to try, or a reason why it is not tried.
struct Candidate {
  Target target = Target::kCpu;
  Provider provider = Provider::kNative;
  const EngineEntry* engine = nullptr;  // null if it is skipped
  Skip skip = Skip::kNone;
  std::string reason;
};

class BackendFactory {
 public:
  BackendFactory(std::vector<EngineEntry> engines, ExposurePolicy policy)
      : engines_(std::move(engines)), policy_(std::move(policy)) {}

  // All candidates of a chain (target.h), first choice first. Only this function expands `auto`, at any place in the
  // chain. Candidates that cannot be tried are listed with their reasons. kInvalidArgument if the chain or the
  // configured priority contains an unknown word, or if together they lead to no engine.
  Result<std::vector<Candidate>> Candidates(std::string_view chain) const;

 private:
  // A target to try. It is not "named" if `auto` led to it by rank alone.
  struct Choice {
    TargetHint hint;
    bool named = true;
  };

  Candidate Consider(Target target, Provider provider) const;
  Result<std::vector<Choice>> Expand(std::string_view chain) const;
  void AddByRank(std::optional<Provider> provider, std::vector<Choice>& out) const;
  std::vector<Candidate> CandidatesOf(const Choice& choice) const;

  std::vector<EngineEntry> engines_;
  ExposurePolicy policy_;
};

}  // namespace inferflux::serving
