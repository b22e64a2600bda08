// Rows of the KV store, which is [heads, slots, width].
#pragma once

#include <mlx/ops.h>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

// The store with [rows, heads * width] in these slots.
inline mx::array Scattered(const mx::array& store, const mx::array& rows, const mx::array& slots) {
  const mx::array updates =
      mx::reshape(mx::astype(rows, store.dtype()), {rows.shape(0), store.shape(0), 1, store.shape(2)});
  return mx::scatter(store, slots, updates, 1);
}

// The positions [first, length) of a sequence: [1, heads, length - first, width]. A view if they are contiguous.
inline mx::array Stored(const mx::array& store, const Mlx::Sequence& sequence, int32_t first) {
  const int32_t length = sequence.length();
  if (sequence.slots) return mx::expand_dims(mx::take(store, mx::slice(*sequence.slots, {first}, {length}), 1), 0);
  const int32_t slot = sequence.first_slot;
  return mx::expand_dims(mx::slice(store, {0, slot + first, 0}, {store.shape(0), slot + length, store.shape(2)}), 0);
}

}  // namespace inferflux::compute
