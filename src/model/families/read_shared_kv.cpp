#include "model/families/read_shared_kv.h"

#include <string>

namespace inferflux::model {

Status ReadSharedKvLayers(const ModelSource& source, ModelConfig* config) {
  const std::string key = config->architecture + ".attention.shared_kv_layers";
  const auto shared = source.metadata().GetOr<int64_t>(key, 0);
  if (!shared) return Forward(shared);
  if (*shared < 0 || *shared >= config->layers) {
    return Fail(ErrorCode::kDataLoss, "{}: {} is {} of {} layers", source.path(), key, *shared, config->layers);
  }
  const int32_t own = config->layers - static_cast<int32_t>(*shared);
  for (int32_t i = own; i < config->layers; ++i) {
    LayerKind& kind = config->layer_kinds[static_cast<size_t>(i)];
    for (int32_t j = own - 1; j >= 0 && kind.kv_layer == kOwnKv; --j) {
      if (config->layer_kinds[static_cast<size_t>(j)].rope == kind.rope) kind.kv_layer = j;
    }
    if (kind.kv_layer == kOwnKv) {
      return Fail(ErrorCode::kDataLoss, "{}: layer {} reads the keys of an earlier layer, but none is of its kind",
                  source.path(), i);
    }
    kind.kv = config->layer_kinds[static_cast<size_t>(kind.kv_layer)].kv;
  }
  return {};
}

}  // namespace inferflux::model
