#include <algorithm>

#include "compute/host/block_lookup.h"
#include "compute/host/kv_element.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

template <class E>
Result<Reference::KvCache<E>> Reference::CreateKvCache(Context&, const KvShape& shape) {
  if (auto checked = CheckKvShape(shape); !checked) return Forward(checked);
  KvCache<E> cache;
  cache.shape = shape;
  for (const KvGeometry& layer : shape.layers) {
    const size_t heads = static_cast<size_t>(shape.blocks) * shape.block_size * static_cast<size_t>(layer.heads);
    const size_t first = heads * static_cast<size_t>(layer.first_row());
    const size_t second = heads * static_cast<size_t>(layer.second_row());
    cache.layers.push_back({std::vector<typename E::Storage>(first), std::vector<typename E::Storage>(second),
                            std::vector<float>(heads, 1.0f), std::vector<float>(heads, 1.0f)});
  }
  return cache;
}

template <class E>
void Reference::Append(Context&, KvCache<E>& cache, int32_t layer, View k, View v, const Batch& batch) {
  using T = typename E::Storage;
  const int32_t heads = cache.shape.layers[layer].heads, dim = cache.shape.layers[layer].head_dim;
  auto& store = cache.layers[layer];
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    for (int32_t r = batch.query_starts[s]; r < batch.query_starts[s + 1]; ++r) {
      const int64_t slot = host::SlotOf(batch, s, batch.positions[r]);
      for (int32_t h = 0; h < heads; ++h) {
        const float* key = k.row(r) + int64_t{h} * dim;
        const float* value = v.row(r) + int64_t{h} * dim;
        const int64_t head = slot * heads + h;
        store.key_scales[head] = host::KvScale<T>(key, dim);
        store.value_scales[head] = host::KvScale<T>(value, dim);
        for (int32_t d = 0; d < dim; ++d) {
          store.keys[head * dim + d] = host::KvElement<T>(key[d] / store.key_scales[head]);
          store.values[head * dim + d] = host::KvElement<T>(value[d] / store.value_scales[head]);
        }
      }
    }
  }
}

template <class E>
void Reference::CopyBlock(Context&, KvCache<E>& cache, int32_t from, int32_t to) {
  const auto copy = [&](auto& of) {
    const auto count = std::ssize(of) / cache.shape.blocks;
    std::copy_n(of.data() + from * count, count, of.data() + to * count);
  };
  for (auto& layer : cache.layers) {
    copy(layer.keys);
    copy(layer.values);
    copy(layer.key_scales);
    copy(layer.value_scales);
  }
}

template <class E>
void Reference::VisitKvBlock(KvCache<E>& cache, int32_t block, FunctionRef<void(std::span<std::byte>)> visit) {
  const auto part = [&](auto& of) {  // empty in layers without KV; scales also in types without them
    const auto count = of.size() / static_cast<size_t>(cache.shape.blocks);
    if (count > 0) visit(std::as_writable_bytes(std::span(of).subspan(static_cast<size_t>(block) * count, count)));
  };
  for (auto& layer : cache.layers) {
    part(layer.keys);
    part(layer.values);
    part(layer.key_scales);
    part(layer.value_scales);
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
template Result<Reference::KvCache<KvInt8>> Reference::CreateKvCache(Context&, const KvShape&);
template void Reference::Append(Context&, KvCache<KvInt8>&, int32_t, View, View, const Batch&);
template void Reference::CopyBlock(Context&, KvCache<KvInt8>&, int32_t, int32_t);
template Result<Reference::KvCache<KvFp8>> Reference::CreateKvCache(Context&, const KvShape&);
template void Reference::Append(Context&, KvCache<KvFp8>&, int32_t, View, View, const Batch&);
template void Reference::CopyBlock(Context&, KvCache<KvFp8>&, int32_t, int32_t);
template void Reference::VisitKvBlock(KvCache<KvFp32>&, int32_t, FunctionRef<void(std::span<std::byte>)>);
template void Reference::VisitKvBlock(KvCache<KvFp16>&, int32_t, FunctionRef<void(std::span<std::byte>)>);
template void Reference::VisitKvBlock(KvCache<KvBf16>&, int32_t, FunctionRef<void(std::span<std::byte>)>);
template void Reference::VisitKvBlock(KvCache<KvInt8>&, int32_t, FunctionRef<void(std::span<std::byte>)>);
template void Reference::VisitKvBlock(KvCache<KvFp8>&, int32_t, FunctionRef<void(std::span<std::byte>)>);

}  // namespace inferflux::compute
