#include <mlx/ops.h>

#include <limits>
#include <numeric>
#include <type_traits>

#include "base/checked_math.h"
#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {
namespace {

template <class E>
mx::Dtype TypeOf() {
  if constexpr (std::is_same_v<E, KvFp16>) return mx::float16;
  if constexpr (std::is_same_v<E, KvBf16>) return mx::bfloat16;
  return mx::float32;
}

// [rows, kv_heads * head_dim] into the slots of axis 1.
mx::array Scattered(const mx::array& store, const mx::array& rows, const mx::array& slots, const KvShape& shape) {
  const mx::array updates =
      mx::reshape(mx::astype(rows, store.dtype()), {rows.shape(0), shape.kv_heads, 1, shape.head_dim});
  return mx::scatter(store, slots, updates, 1);
}

// A copy of `shape.block_size` slots, taken out: a view would keep the store from being written in place.
mx::array WithBlockCopied(const mx::array& store, const KvShape& shape, int32_t from, int32_t to) {
  std::vector<int32_t> slots(static_cast<size_t>(shape.block_size));
  std::iota(slots.begin(), slots.end(), from * shape.block_size);
  const int first = to * shape.block_size;
  const mx::Shape begin{0, first, 0}, end{shape.kv_heads, first + shape.block_size, shape.head_dim};
  mx::array block = mx::take(store, IndexArray(slots), 1);
  block.eval();  // as long as it is only planned, it holds the store
  return mx::slice_update(store, block, begin, end);
}

}  // namespace

template <MlxKvType E>
Result<Mlx::KvCache<E>> Mlx::CreateKvCache(Context& context, const KvShape& shape) {
  if (shape.layers <= 0 || shape.kv_heads <= 0 || shape.head_dim <= 0 || shape.blocks <= 0 || shape.block_size <= 0) {
    return Fail(ErrorCode::kInvalidArgument, "an empty KV store: {} layers, {} heads of {}, {} blocks of {}",
                shape.layers, shape.kv_heads, shape.head_dim, shape.blocks, shape.block_size);
  }
  const int64_t slots = int64_t{shape.blocks} * shape.block_size;
  const auto per_slot = CheckedMul(static_cast<uint64_t>(shape.kv_heads) * sizeof(typename E::Storage),
                                   static_cast<uint64_t>(shape.head_dim));
  const auto bytes = per_slot ? CheckedMul(*per_slot, static_cast<uint64_t>(slots)) : std::nullopt;
  if (slots > std::numeric_limits<int32_t>::max() || !bytes || *bytes > uint64_t{1} << 50) {
    return Fail(ErrorCode::kResourceExhausted,
                "no KV array of {} slots of {} heads of {}: a smaller kv_bytes is needed", slots, shape.kv_heads,
                shape.head_dim);
  }
  KvCache<E> cache{shape, std::make_shared<std::vector<KvLayer>>()};
  try {
    // Memory that nobody touches costs nothing, and attention reads only what Append wrote.
    const auto array = [&] {
      return MakeArray<typename E::Storage>({shape.kv_heads, Int(slots), shape.head_dim}, TypeOf<E>(), [](auto*) {});
    };
    for (int32_t i = 0; i < shape.layers; ++i) cache.layers->push_back({array(), array()});
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kResourceExhausted, "MLX has no memory for the KV of {} slots: {}", slots, error.what());
  }
  context.caches.push_back(cache.layers);
  return cache;
}

void Mlx::AppendTo(KvLayer& layer, const KvShape& shape, View k, View v, const Batch& batch) {
  layer.keys = Scattered(layer.keys, k.values, batch.new_slots, shape);
  layer.values = Scattered(layer.values, v.values, batch.new_slots, shape);
}

void Mlx::CopyBlockOf(KvLayer& layer, const KvShape& shape, int32_t from, int32_t to) {
  layer.keys = WithBlockCopied(layer.keys, shape, from, to);
  layer.values = WithBlockCopied(layer.values, shape, from, to);
}

template Result<Mlx::KvCache<KvFp32>> Mlx::CreateKvCache(Context&, const KvShape&);
template Result<Mlx::KvCache<KvFp16>> Mlx::CreateKvCache(Context&, const KvShape&);
template Result<Mlx::KvCache<KvBf16>> Mlx::CreateKvCache(Context&, const KvShape&);

}  // namespace inferflux::compute
