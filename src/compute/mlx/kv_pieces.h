// Where a KV block lies: one run of slots a head in each array, in memory that a GPU of MLX's shares with the host.
#pragma once

#include "compute/kv_pieces.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

template <MlxKvType E>
struct KvPieces<Mlx, E> {
  using Storage = typename E::Storage;

  // What was planned for the arrays is done first: after that nobody else holds them, and they may be written in place.
  template <class Visit>
  static void ForEach(Mlx::KvCache<E>& cache, int32_t block, Visit visit) {
    for (Mlx::KvLayer& layer : *cache.layers) {
      if (layer.keys.size() == 0) continue;
      const auto run = static_cast<size_t>(cache.shape.block_size) * static_cast<size_t>(layer.keys.shape(2));
      const auto head = run * static_cast<size_t>(cache.shape.blocks);
      const int heads = layer.keys.shape(0);
      for (mlx::core::array* array : {&layer.keys, &layer.values}) {
        array->eval();
        Storage* first = array->template data<Storage>() + static_cast<size_t>(block) * run;
        for (int32_t h = 0; h < heads; ++h) visit(std::span<Storage>(first + static_cast<size_t>(h) * head, run));
      }
    }
  }
};

}  // namespace inferflux::compute
