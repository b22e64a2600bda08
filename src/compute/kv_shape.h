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

// One layer's keys and values: [heads * head_dim] each. Or, with latents (compute/latent_kv.h), one row of head_dim
// values that all query heads share, of which the first `latent` are the value too, and a row of `index` values beside
// it.
struct KvGeometry {
  int32_t heads = 0;  // 0: the layer keeps no KV; with latents: 1
  int32_t head_dim = 0;
  int32_t window = 0;  // 0: a token sees all earlier ones; n: itself and the n-1 tokens before it
  int32_t latent = 0;  // 0: keys and values by themselves
  int32_t index = 0;   // the key by which tokens are selected; 0: none are
  // A window of n is cut at each multiple of n: a token sees itself and the tokens before it from the last multiple on.
  bool chunked = false;

  // The two rows that a token has in each head.
  int32_t first_row() const { return head_dim; }
  int32_t second_row() const { return latent > 0 ? index : head_dim; }
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
  for (const KvGeometry& layer : layers) {
    bytes += int64_t{layer.heads} * KvHeadBytes<E>(layer.first_row());
    if (layer.second_row() > 0) bytes += int64_t{layer.heads} * KvHeadBytes<E>(layer.second_row());
  }
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

// kInvalidArgument unless there are layers, blocks and positions, every layer with heads has a width, and latents are
// part of one head.
inline Status CheckKvShape(const KvShape& shape) {
  bool sound = !shape.layers.empty() && shape.blocks > 0 && shape.block_size > 0;
  for (const KvGeometry& layer : shape.layers) {
    sound = sound && layer.heads >= 0 && (layer.heads == 0 || layer.head_dim > 0) && layer.index >= 0;
    sound = sound && layer.latent >= 0 && layer.latent <= layer.head_dim && (layer.latent == 0 || layer.heads == 1);
  }
  if (sound) return {};
  return Fail(
      ErrorCode::kInvalidArgument,
      "a KV cache of {} layers, {} blocks of {} positions: layers, blocks and positions must be above zero, and "
      "so must the width of each layer's heads; latents are part of the only head",
      shape.layers.size(), shape.blocks, shape.block_size);
}

}  // namespace inferflux::compute
