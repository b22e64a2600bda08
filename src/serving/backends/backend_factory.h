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
};

// What an engine is to be loaded with.
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

// One thing to try, or a reason why it is not tried.
struct Candidate {
  Target target = Target::kCpu;
  Provider provider = Provider::kNative;
  const EngineEntry* engine = nullptr;  // null: skip it, for this reason
  std::string reason;
};

class BackendFactory {
 public:
  BackendFactory(std::vector<EngineEntry> engines, ExposurePolicy policy)
      : engines_(std::move(engines)), policy_(policy) {}

  // Every engine to try for these words, the first choice first. `auto` means every target of this
  // build, the highest device rank first. Never empty: what cannot be tried is listed with its reason.
  Result<std::vector<Candidate>> Candidates(std::span<const std::string> words) const;

  std::span<const EngineEntry> engines() const { return engines_; }
  const ExposurePolicy& policy() const { return policy_; }

 private:
  Candidate Consider(Target target, Provider provider) const;

  std::vector<EngineEntry> engines_;
  ExposurePolicy policy_;
};

}  // namespace inferflux::serving
