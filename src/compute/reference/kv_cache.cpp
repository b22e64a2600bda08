#include <algorithm>

#include "compute/host/block_lookup.h"
#include "compute/host/kv_element.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {
template <class E>
Result<Reference::KvCache<E>> Reference::CreateKvCache(Context&, const KvShape& shape) {
  KvCache<E> cache;
  cache.shape = shape;
  cache.layers.resize(static_cast<size_t>(shape.layers));
  const size_t elements =
      static_cast<size_t>(shape.blocks) * shape.block_size * static_cast<size_t>(shape.kv_heads) * shape.head_dim;
  for (auto& layer : cache.layers) {
    layer.keys.resize(elements);
    layer.values.resize(elements);
  }
  return cache;
}

template <class E>
void Reference::Append(Context&, KvCache<E>& cache, int32_t layer, View k, View v, const Batch& batch) {
  auto& store = cache.layers[layer];
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    for (int32_t r = batch.query_starts[s]; r < batch.query_starts[s + 1]; ++r) {
      const int64_t at = host::SlotOf(batch, s, batch.positions[r]) * k.cols;
      for (int64_t c = 0; c < k.cols; ++c) {
        store.keys[at + c] = host::KvElement<typename E::Storage>(k.row(r)[c]);
        store.values[at + c] = host::KvElement<typename E::Storage>(v.row(r)[c]);
      }
    }
  }
}

template <class E>
void Reference::CopyBlock(Context&, KvCache<E>& cache, int32_t from, int32_t to) {
  const int64_t block = int64_t{cache.shape.block_size} * cache.shape.kv_heads * cache.shape.head_dim;
  for (auto& layer : cache.layers) {
    std::copy_n(layer.keys.data() + from * block, block, layer.keys.data() + to * block);
    std::copy_n(layer.values.data() + from * block, block, layer.values.data() + to * block);
  }
}

template Result<Reference::KvCache<KvFp32>> Reference::CreateKvCache(Context&, const KvShape&);
template Result<Reference::KvCache<KvFp16>> Reference::CreateKvCache(Context&, const KvShape&);
template Result<Reference::KvCache<KvBf16>> Reference::CreateKvCache(Context&, const KvShape&);
template void Reference::Append(Context&, KvCache<KvFp32>&, int32_t, View, View, const Batch&);
template void Reference::Append(Context&, KvCache<KvFp16>&, int32_t, View, View, const Batch&);
template void Reference::Append(Context&, KvCache<KvBf16>&, int32_t, View, View, const Batch&);
template void Reference::CopyBlock(Context&, KvCache<KvFp32>&, int32_t, int32_t);
template void Reference::CopyBlock(Context&, KvCache<KvFp16>&, int32_t, int32_t);
template void Reference::CopyBlock(Context&, KvCache<KvBf16>&, int32_t, int32_t);

}  // namespace inferflux::compute
