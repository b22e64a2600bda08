// Keys and values of one model in blocks of positions, laid out for the two matmuls of attention.
//
// A layer has the keys of all its blocks, then all values. Keys of a block and KV head: [positions / 16 rounded
// up][head_dim][16 positions], so that 16 scores are computed in lanes. Values: [positions][head_dim, padded to 16].
// Types with scales add a float per position after the keys, and after the values.
//
// A layer with latents has rows alone: in place of keys [positions][head_dim, padded to 16], and in place of values the
// indexer's keys, [positions][index, padded to 16].
#pragma once

#include <cstdint>
#include <vector>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/host/pages.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

template <class T>
struct KvCache {
  KvShape shape;
  host::Pages pages;

  std::vector<int64_t> starts = {};  // [layers]: the start of each layer, in elements

  // Elements of one KV head of one block.
  int64_t key_head(int32_t layer) const { return first_elements(layer) + scales(); }
  int64_t value_head(int32_t layer) const {
    return second_elements(layer) == 0 ? 0 : second_elements(layer) + scales();
  }
  // Elements of all heads of one block.
  int64_t block_keys(int32_t layer) const { return key_head(layer) * shape.layers[layer].heads; }
  int64_t block_values(int32_t layer) const { return value_head(layer) * shape.layers[layer].heads; }
  int64_t layer_elements(int32_t layer) const { return (block_keys(layer) + block_values(layer)) * shape.blocks; }

  T* keys(int32_t layer, int64_t block, int64_t kv_head) const {
    return base(layer) + block * block_keys(layer) + kv_head * key_head(layer);
  }
  T* values(int32_t layer, int64_t block, int64_t kv_head) const {
    return base(layer) + shape.blocks * block_keys(layer) + block * block_values(layer) + kv_head * value_head(layer);
  }

  // The scales of a block's positions, for types that have them.
  float* key_scales(int32_t layer, int64_t block, int64_t kv_head) const {
    return reinterpret_cast<float*>(keys(layer, block, kv_head) + first_elements(layer));
  }
  float* value_scales(int32_t layer, int64_t block, int64_t kv_head) const {
    return reinterpret_cast<float*>(values(layer, block, kv_head) + second_elements(layer));
  }

 private:
  int64_t first_elements(int32_t layer) const {
    const KvGeometry& of = shape.layers[layer];
    return of.latent > 0 ? ValueElements(shape.block_size, of.head_dim) : KeyElements(shape.block_size, of.head_dim);
  }
  int64_t second_elements(int32_t layer) const {
    return ValueElements(shape.block_size, shape.layers[layer].second_row());
  }
  // Elements that the scales of one head and block take, in whole vectors, so that a vector load stays inside.
  int64_t scales() const {
    if constexpr (!kStoredWithScales<T>) return 0;
    return KeyElements(shape.block_size, 1) * static_cast<int64_t>(sizeof(float) / sizeof(T));
  }
  T* base(int32_t layer) const { return reinterpret_cast<T*>(pages.data()) + starts[layer]; }
};

}  // namespace inferflux::compute::cpu
