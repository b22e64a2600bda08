// Addresses within the CPU backend's KV blocks.
#pragma once

#include "compute/cpu/cpu_backend.h"
#include "compute/kv_pieces.h"

namespace inferflux::compute {

template <class E>
struct KvPieces<Cpu, E> {
  template <class Visit>
  static void ForEach(Cpu::KvCache<E>& cache, int32_t block, Visit visit) {
    const auto keys = static_cast<size_t>(cache.key_head() * cache.shape.kv_heads);
    const auto values = static_cast<size_t>(cache.value_head() * cache.shape.kv_heads);
    for (int32_t layer = 0; layer < cache.shape.layers; ++layer) {
      visit(std::span(cache.keys(layer, block, 0), keys));
      visit(std::span(cache.values(layer, block, 0), values));
    }
  }
};

}  // namespace inferflux::compute
