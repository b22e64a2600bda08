#include <mlx/ops.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/checked_math.h"
#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/mlx/stored.h"

namespace inferflux::compute {
namespace {

template <class E>
mx::Dtype TypeOf() {
  if constexpr (std::is_same_v<E, KvFp16>) return mx::float16;
  if constexpr (std::is_same_v<E, KvBf16>) return mx::bfloat16;
  return mx::float32;
}

// A copy of `block_size` slots: a view would prevent the store from being written in place.
mx::array WithBlockCopied(const mx::array& store, int32_t block_size, int32_t from, int32_t to) {
  std::vector<int32_t> slots(static_cast<size_t>(block_size));
  std::iota(slots.begin(), slots.end(), from * block_size);
  const int first = to * block_size;
  const mx::Shape begin{0, first, 0}, end{store.shape(0), first + block_size, store.shape(2)};
  mx::array block = mx::take(store, IndexArray(slots), 1);
  block.eval();  // until it is evaluated, its graph keeps the store alive
  return mx::slice_update(store, block, begin, end);
}

}  // namespace

template <MlxKvType E>
Result<Mlx::KvCache<E>> Mlx::CreateKvCache(Context& context, const KvShape& shape) {
  if (auto checked = CheckKvShape(shape); !checked) return Forward(checked);
  const int64_t slots = int64_t{shape.blocks} * shape.block_size;
  for (const KvGeometry& layer : shape.layers) {
    const auto per_slot = CheckedMul(static_cast<uint64_t>(layer.heads) * sizeof(typename E::Storage),
                                     static_cast<uint64_t>(std::max(layer.first_row(), layer.second_row())));
    const auto bytes = per_slot ? CheckedMul(*per_slot, static_cast<uint64_t>(slots)) : std::nullopt;
    if (slots <= std::numeric_limits<int32_t>::max() && bytes && *bytes <= uint64_t{1} << 50) continue;
    return Fail(ErrorCode::kResourceExhausted,
                "no KV array of {} slots of {} heads of {}: a smaller kv_bytes is needed", slots, layer.heads,
                layer.head_dim);
  }
  KvCache<E> cache{shape, std::make_shared<std::vector<KvLayer>>()};
  try {
    for (const KvGeometry& layer : shape.layers) {
      // Untouched memory costs nothing, and attention reads only what Append wrote.
      const auto array = [&](int32_t width) {
        if (layer.heads == 0 || width == 0) return mx::zeros({0, 0, 0}, TypeOf<E>());
        return MakeArray<typename E::Storage>({layer.heads, Int(slots), width}, TypeOf<E>(), [](auto*) {});
      };
      cache.layers->push_back({array(layer.first_row()), array(layer.second_row())});
    }
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kResourceExhausted, "MLX has no memory for the KV of {} slots: {}", slots, error.what());
  }
  context.caches.push_back(cache.layers);
  return cache;
}

void Mlx::AppendTo(KvLayer& layer, View k, View v, const Batch& batch) {
  layer.keys = Scattered(layer.keys, k.values, batch.new_slots);
  layer.values = Scattered(layer.values, v.values, batch.new_slots);
}

void Mlx::CopyBlockOf(KvLayer& layer, int32_t block_size, int32_t from, int32_t to) {
  for (mx::array* array : {&layer.keys, &layer.values}) {
    if (array->size() > 0) *array = WithBlockCopied(*array, block_size, from, to);
  }
}

// Each array has one run of slots per head, in memory that MLX's GPU shares with the host. Pending work on the arrays
// runs first: after that nothing else holds them, and they may be written in place.
void Mlx::VisitBlockOf(KvLayer& layer, const KvShape& shape, int32_t block,
                       FunctionRef<void(std::span<std::byte>)> visit) {
  for (mx::array* array : {&layer.keys, &layer.values}) {
    if (array->size() == 0) continue;
    array->eval();
    const int heads = array->shape(0);
    const auto run = static_cast<size_t>(shape.block_size) * static_cast<size_t>(array->shape(2)) * array->itemsize();
    const auto head = run * static_cast<size_t>(shape.blocks);
    std::byte* first = reinterpret_cast<std::byte*>(array->data<char>()) + static_cast<size_t>(block) * run;
    for (int h = 0; h < heads; ++h) visit(std::span(first + static_cast<size_t>(h) * head, run));
  }
}

template Result<Mlx::KvCache<KvFp32>> Mlx::CreateKvCache(Context&, const KvShape&);
template Result<Mlx::KvCache<KvFp16>> Mlx::CreateKvCache(Context&, const KvShape&);
template Result<Mlx::KvCache<KvBf16>> Mlx::CreateKvCache(Context&, const KvShape&);

}  // namespace inferflux::compute
