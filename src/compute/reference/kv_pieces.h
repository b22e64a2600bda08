// Where the reference backend's KV blocks lie.
#pragma once

#include "compute/kv_pieces.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

template <class E>
struct KvPieces<Reference, E> {
  template <class Visit>
  static void ForEach(Reference::KvCache<E>& cache, int32_t block, Visit visit) {
    const auto part = [&](auto& of) {
      const auto count = of.size() / static_cast<size_t>(cache.shape.blocks);
      if (count > 0) visit(std::span(of).subspan(static_cast<size_t>(block) * count, count));
    };
    for (auto& layer : cache.layers) {
      part(layer.keys);
      part(layer.values);
      part(layer.key_scales);
      part(layer.value_scales);
    }
  }
};

}  // namespace inferflux::compute
