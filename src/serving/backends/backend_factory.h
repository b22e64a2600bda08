// Which engines this build has, and in which order a model is tried on them.
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
#include "serving/backends/target.h"

namespace inferflux::serving {

using config::BackendConfig;

// runtime.backend_exposure
struct ExposurePolicy {
  bool prefer_native = true;         // our own engines before llama.cpp's
  bool allow_llama_fallback = true;  // llama.cpp where there is no engine of our own, or it failed
  // runtime.backend_priority: the chain that `auto` stands for. `auto` in it stands for every target, the highest
  // device rank first.
  std::string priority = "auto";
};

// What an engine is loaded with.
struct EngineRequest {
  std::shared_ptr<const model::ModelSource> source;
  int32_t context = 0;  // tokens a sequence may have; 0: the model's own
  BackendConfig config;
  std::stop_token stop = {};  // calls the load off: kCancelled
};

// Makes an engine; called on the thread that will step it.
using EngineMaker = std::function<Result<std::unique_ptr<engine::Engine>>(const EngineRequest&)>;

struct EngineEntry {
  Target target = Target::kCpu;
  Provider provider = Provider::kNative;
  EngineMaker make;  // empty: known, but not in this build
  std::string why_absent;
  bool automatic = true;                                       // whether `auto` may lead to it
  std::function<std::vector<compute::Device>()> devices = {};  // what it computes on; asks the device each time
  formats::WeightLayouts weight_layouts = {};                  // of a checkpoint, that it holds as they are
  std::string note;  // what people should know of this build of it; empty: nothing
};

// Why a candidate is not tried.
enum class Skip : uint8_t {
  kNone,       // it is tried
  kAbsent,     // this build lacks it, and the user or the configured priority named it: what runs instead is a fallback
  kForbidden,  // a switch forbids it: what runs instead is no fallback
  kUnnamed,    // `auto` passes it over by rank: what runs instead is no fallback
};

// One engine to try, or a reason why it is not tried.
struct Candidate {
  Target target = Target::kCpu;
  Provider provider = Provider::kNative;
  const EngineEntry* engine = nullptr;  // null where it is skipped
  Skip skip = Skip::kNone;
  std::string reason;
};

class BackendFactory {
 public:
  BackendFactory(std::vector<EngineEntry> engines, ExposurePolicy policy)
      : engines_(std::move(engines)), policy_(std::move(policy)) {}

  // Everything that a chain (target.h) may lead to, first choice first. This is the one place that expands `auto`,
  // wherever it is in the chain. What cannot be tried is listed with its reason. kInvalidArgument where the chain or
  // the configured priority has an unknown word, or the two lead to no engine.
  Result<std::vector<Candidate>> Candidates(std::string_view chain) const;

 private:
  // A target to try; not named where `auto` led to it by rank alone.
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
