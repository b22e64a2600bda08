#include "engine/native/native_backends.h"

#include <algorithm>
#include <utility>

namespace inferflux::engine {

const NativeBackend* FindNativeBackend(std::string_view name) {
  const auto found = std::ranges::find(NativeBackends(), name, &NativeBackend::name);
  return found == NativeBackends().end() ? nullptr : &*found;
}

Result<std::unique_ptr<Engine>> CreateEngine(std::string_view backend, model::ModelConfig config,
                                             std::shared_ptr<const model::ModelSource> source,
                                             const EngineOptions& options) {
  if (const NativeBackend* found = FindNativeBackend(backend)) {
    return found->create(std::move(config), std::move(source), options);
  }
  std::string known;
  for (const NativeBackend& each : NativeBackends()) {
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  return Fail(ErrorCode::kUnsupported, "this build has no compute backend '{}': it has {}", backend, known);
}

}  // namespace inferflux::engine
