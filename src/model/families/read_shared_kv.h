// The key of models whose last layers have no keys and values of their own.
#pragma once

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Reads attention.shared_kv_layers: so many of the last layers read the keys and values of the last earlier layer of
// the same kind, by its RoPE. The layers' kinds must be set. kDataLoss if there is no such layer.
Status ReadSharedKvLayers(const ModelSource& source, ModelConfig* config);

}  // namespace inferflux::model
