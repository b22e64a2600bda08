// Where the CPU backend's KV blocks lie.
#pragma once

#include "compute/cpu/cpu_backend.h"
#include "compute/kv_pieces.h"

namespace inferflux::compute {

template <class E>
struct KvPieces<Cpu, E> {
  template <class Visit>
  static void ForEach(Cpu::KvCache<E>& cache, int32_t block, Visit visit) {
    for (int32_t layer = 0; layer < std::ssize(cache.shape.layers); ++layer) {
      if (cache.shape.layers[layer].heads == 0) continue;
      visit(std::span(cache.keys(layer, block, 0), static_cast<size_t>(cache.block_keys(layer))));
      visit(std::span(cache.values(layer, block, 0), static_cast<size_t>(cache.block_values(layer))));
    }
  }
};

}  // namespace inferflux::compute
