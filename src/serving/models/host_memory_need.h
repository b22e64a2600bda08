// The host memory that a model needs, before it is loaded and after.
#pragma once

#include <cstdint>

#include "config/backend_config.h"
#include "model/loading/model_source.h"
#include "serving/backends/backend_factory.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

struct HostMemoryNeed {
  int64_t weight_bytes = 0;  // the draft model's included
  int64_t kv_bytes = 0;      // as configured; 0: not set
  bool holds_kv = true;      // false: on a device with memory of its own, from which the engine plans its KV
  bool mapped = false;       // the weights stay in their file: the system can drop their pages, so they do not count
};

// `draft`: null if there is none.
HostMemoryNeed NeedOf(const EngineEntry& engine, const BackendConfig& config, const model::ModelSource& source,
                      const model::ModelSource* draft);

// What the loaded model holds. `granted_kv`: what it was allowed for KV, for engines that do not report it.
int64_t HostMemoryOf(const ServedModel& model, const HostMemoryNeed& need, int64_t granted_kv);

// The KV budget of a draft model, for the KV budget of its model.
constexpr int64_t DraftKv(int64_t kv_bytes) { return kv_bytes / 8; }

}  // namespace inferflux::serving
