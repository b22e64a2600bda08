// The models of a program: loaded by name from a directory, shared by everyone who asks for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inferflux/engine.h"
#include "inferflux/error.h"
#include "inferflux/load_options.h"

namespace inferflux::embedded {

class Runtime;

struct PoolOptions {
  std::string models_dir;                // where models are found by name; empty: by path alone
  std::optional<int64_t> threads;        // that compute on the CPU, for all models; unset: as many as usable cores
  std::optional<int64_t> memory_budget;  // bytes of weights and KV of all models; unset: from the machine's memory
};

struct PoolModel {
  std::string name;
  bool loaded = false;
};

// A handle: copies share the pool, which lives as long as one of them or an engine from it. Any thread.
class ModelPool {
 public:
  // kInvalidConfig names the setting; kModelNotFound where the directory is missing.
  static Result<ModelPool> Open(const PoolOptions& options);

  // The loaded model of this name. Otherwise loads it: `name` of the directory (`name.gguf`, a split file or a Hugging
  // Face directory), or a path, which has a '/'. All who ask at once share one load. kModelNotFound names what was
  // asked for and what there is; kInvalidConfig where the model is loaded with other options; kBackendError where the
  // memory budget has no room; otherwise as Engine::Load.
  Result<Engine> LoadModel(const std::string& name, const LoadOptions& options = {}) const;

  // Never loads: kModelNotFound says what is loaded.
  Result<Engine> GetLoadedModel(const std::string& name) const;

  // What is loaded, and what could be.
  std::vector<PoolModel> List() const;

  // Waits up to `grace` for the model's engines to be destroyed, ends the calls that still run (kBackendError), and
  // frees its memory. kModelNotFound where it is not loaded.
  Status Unload(const std::string& name, std::chrono::milliseconds grace = std::chrono::milliseconds(0)) const;

 private:
  explicit ModelPool(std::shared_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}

  std::shared_ptr<Runtime> runtime_;
};

}  // namespace inferflux::embedded
