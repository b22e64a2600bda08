// Where the reference backend's KV blocks lie.
#pragma once

#include "compute/kv_pieces.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

template <class E>
struct KvPieces<Reference, E> {
  template <class Visit>
  static void ForEach(Reference::KvCache<E>& cache, int32_t block, Visit visit) {
    const auto size =
        static_cast<size_t>(int64_t{cache.shape.block_size} * cache.shape.kv_heads * cache.shape.head_dim);
    for (auto& layer : cache.layers) {
      visit(std::span(layer.keys).subspan(static_cast<size_t>(block) * size, size));
      visit(std::span(layer.values).subspan(static_cast<size_t>(block) * size, size));
      const auto scales = layer.key_scales.size() / static_cast<size_t>(cache.shape.blocks);  // 0 in types without
      visit(std::span(layer.key_scales).subspan(static_cast<size_t>(block) * scales, scales));
      visit(std::span(layer.value_scales).subspan(static_cast<size_t>(block) * scales, scales));
    }
  }
};

}  // namespace inferflux::compute
