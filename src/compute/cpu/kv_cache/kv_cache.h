// Keys and values of one model in blocks of positions, laid out for the two matmuls of attention.
//
// A layer has all its blocks' keys, then all its values. Keys of a block and KV head: [positions / 16 rounded
// up][head_dim][16 positions], so that 16 scores are computed in lanes. Values: [positions][head_dim, padded to 16].
// Types that are stored with scales have a float for each position after the keys, and after the values.
#pragma once

#include <cstdint>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/host/pages.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

template <class T>
struct KvCache {
  KvShape shape;
  host::Pages pages;

  // Elements of one KV head of one block.
  int64_t key_head() const { return KeyElements(shape.block_size, shape.head_dim) + scales(); }
  int64_t value_head() const { return ValueElements(shape.block_size, shape.head_dim) + scales(); }
  int64_t key_layer() const { return key_head() * shape.kv_heads * shape.blocks; }
  int64_t value_layer() const { return value_head() * shape.kv_heads * shape.blocks; }

  T* keys(int32_t layer, int64_t block, int64_t kv_head) const {
    return base(layer) + (block * shape.kv_heads + kv_head) * key_head();
  }
  T* values(int32_t layer, int64_t block, int64_t kv_head) const {
    return base(layer) + key_layer() + (block * shape.kv_heads + kv_head) * value_head();
  }

  // Of the positions of a block, in types that have scales.
  float* key_scales(int32_t layer, int64_t block, int64_t kv_head) const {
    return reinterpret_cast<float*>(keys(layer, block, kv_head) + KeyElements(shape.block_size, shape.head_dim));
  }
  float* value_scales(int32_t layer, int64_t block, int64_t kv_head) const {
    return reinterpret_cast<float*>(values(layer, block, kv_head) + ValueElements(shape.block_size, shape.head_dim));
  }

 private:
  // Elements that the scales of one head and block take; whole vectors of them, so that a load stays inside.
  int64_t scales() const {
    if constexpr (!kStoredWithScales<T>) return 0;
    return KeyElements(shape.block_size, 1) * static_cast<int64_t>(sizeof(float) / sizeof(T));
  }
  T* base(int32_t layer) const { return reinterpret_cast<T*>(pages.data()) + layer * (key_layer() + value_layer()); }
};

}  // namespace inferflux::compute::cpu
