// Keys and values of one model in blocks of positions, laid out for the products that attention is made of.
//
// A layer has all its blocks' keys, then all its values. Keys of a block and KV head: [positions / 16 rounded
// up][head_dim][16 positions], so that a score's terms lie in lanes. Values: [positions][head_dim, padded to 16].
#pragma once

#include <cstdint>

#include "compute/cpu/kernels.h"
#include "compute/host/pages.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

template <class T>
struct KvStore {
  KvShape shape;
  host::Pages pages;

  // Elements of one KV head of one block.
  int64_t key_head() const { return (shape.block_size + kLanes - 1) / kLanes * kLanes * int64_t{shape.head_dim}; }
  int64_t value_head() const { return shape.block_size * PaddedHead(shape.head_dim); }
  int64_t key_layer() const { return key_head() * shape.kv_heads * shape.blocks; }
  int64_t value_layer() const { return value_head() * shape.kv_heads * shape.blocks; }

  T* keys(int32_t layer, int64_t block, int64_t kv_head) const {
    return base(layer) + (block * shape.kv_heads + kv_head) * key_head();
  }
  T* values(int32_t layer, int64_t block, int64_t kv_head) const {
    return base(layer) + key_layer() + (block * shape.kv_heads + kv_head) * value_head();
  }

 private:
  T* base(int32_t layer) const { return reinterpret_cast<T*>(pages.data()) + layer * (key_layer() + value_layer()); }
};

}  // namespace inferflux::compute::cpu
