// The KV that a model keeps per token, layer by layer. Layers may differ in their number of heads, head width and
// attention window, and some keep no KV.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/kv_types.h"

namespace inferflux::compute {

// One layer's keys and values: [heads * head_dim] each.
struct KvGeometry {
  int32_t heads = 0;  // 0: the layer keeps no KV
  int32_t head_dim = 0;
  int32_t window = 0;  // 0: a token sees all earlier ones; n: itself and the n-1 tokens before it
};

// The KV of one model on one device: `blocks` blocks of `block_size` tokens for each layer.
struct KvShape {
  std::vector<KvGeometry> layers;
  int32_t blocks = 0;
  int32_t block_size = 0;
};

// Bytes of one token's keys and values in all layers, stored as E.
template <class E>
constexpr int64_t KvTokenBytes(std::span<const KvGeometry> layers) {
  int64_t bytes = 0;
  for (const KvGeometry& layer : layers) bytes += 2 * int64_t{layer.heads} * KvHeadBytes<E>(layer.head_dim);
  return bytes;
}

// The same by the type's name; 0 if the type is unknown.
inline int64_t KvTokenBytes(std::string_view name, std::span<const KvGeometry> layers) {
  int64_t bytes = 0;
  ForEachKvType([&]<class E>(E) {
    if (name == E::kName) bytes = KvTokenBytes<E>(layers);
  });
  return bytes;
}

// kInvalidArgument unless there are layers, blocks and positions, and every layer with heads has a width.
inline Status CheckKvShape(const KvShape& shape) {
  bool sound = !shape.layers.empty() && shape.blocks > 0 && shape.block_size > 0;
  for (const KvGeometry& layer : shape.layers)
    sound = sound && layer.heads >= 0 && (layer.heads == 0 || layer.head_dim > 0);
  if (sound) return {};
  return Fail(
      ErrorCode::kInvalidArgument,
      "a KV cache of {} layers, {} blocks of {} positions: layers, blocks and positions must be above zero, and "
      "so must the width of each layer's heads",
      shape.layers.size(), shape.blocks, shape.block_size);
}

}  // namespace inferflux::compute
