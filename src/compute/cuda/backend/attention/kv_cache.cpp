#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "compute/cuda/backend/operation.h"

namespace inferflux::compute {
namespace {

// Memory for this many heads of so many bytes each, filled with zeros: a block that is copied may not be full.
Result<cuda::DeviceBytes> Zeros(Cuda::Context& context, uint64_t heads, uint64_t head_bytes) {
  const auto bytes = CheckedMul(heads, head_bytes);
  if (!bytes) return Fail(ErrorCode::kResourceExhausted, "KV of {} heads of {} bytes", heads, head_bytes);
  auto made = cuda::DeviceBytes::Allocate(*context.runtime, *bytes);
  if (!made) return Forward(made, "the KV cache");
  if (*bytes > 0) {
    if (auto filled = context.runtime->Fill(made->data(), 0, *bytes, context.stream); !filled) return Forward(filled);
  }
  return made;
}

// One block's bytes of an array that all blocks share.
struct Part {
  std::byte* at;
  size_t bytes;
};
Part BlockOf(const cuda::DeviceBytes& array, int32_t blocks, int32_t block) {
  const size_t bytes = array.bytes() / static_cast<size_t>(blocks);
  return {array.as<std::byte>() + static_cast<size_t>(block) * bytes, bytes};
}

template <class Layer, class F>
void ForEachArray(const Layer& layer, const F& f) {
  for (const cuda::DeviceBytes* array : {&layer.keys, &layer.values, &layer.key_scales, &layer.value_scales}) {
    if (array->bytes() > 0) f(*array);
  }
}

}  // namespace

template <class E>
Result<Cuda::KvCache<E>> Cuda::CreateKvCache(Context& context, const KvShape& shape) {
  if (auto checked = CheckKvShape(shape); !checked) return Forward(checked);
  KvCache<E> cache{.context = &context, .shape = shape, .layers = {}};
  const auto slots = static_cast<uint64_t>(shape.blocks) * static_cast<uint64_t>(shape.block_size);
  for (const KvGeometry& layer : shape.layers) {
    const auto heads = CheckedMul(slots, static_cast<uint64_t>(layer.heads));
    if (!heads) return Fail(ErrorCode::kResourceExhausted, "KV of {} slots of {} heads", slots, layer.heads);
    auto& to = cache.layers.emplace_back();
    const auto make = [&](int32_t width, cuda::DeviceBytes& rows, cuda::DeviceBytes& scales) -> Status {
      if (width == 0) return {};
      auto made = Zeros(context, *heads, static_cast<uint64_t>(width) * sizeof(typename E::Storage));
      if (!made) return Forward(made);
      rows = std::move(*made);
      if (!E::kScaled) return {};
      made = Zeros(context, *heads, sizeof(float));
      if (!made) return Forward(made);
      scales = std::move(*made);
      return {};
    };
    if (auto made = make(layer.first_row(), to.keys, to.key_scales); !made) return Forward(made);
    if (auto made = make(layer.second_row(), to.values, to.value_scales); !made) return Forward(made);
  }
  return cache;
}

template <class E>
void Cuda::Append(Context& context, KvCache<E>& cache, int32_t layer, View k, View v, const Batch& batch) {
  if (k.rows == 0) return;
  cuda_ops::Must(cuda::AppendKv(cuda_ops::RowsOf(k), cuda_ops::RowsOf(v), cache.shape.layers[layer].heads, batch.slots,
                                cache.layers[layer].pointers(), context.stream));
}

template <class E>
void Cuda::CopyBlock(Context& context, KvCache<E>& cache, int32_t from, int32_t to) {
  for (const auto& layer : cache.layers) {
    ForEachArray(layer, [&](const cuda::DeviceBytes& array) {
      const Part source = BlockOf(array, cache.shape.blocks, from);
      const Part target = BlockOf(array, cache.shape.blocks, to);
      cuda_ops::Must(context.runtime->CopyOnDevice(target.at, source.at, source.bytes, context.stream));
    });
  }
}

template <class E>
void Cuda::VisitKvBlock(KvCache<E>& cache, int32_t block, FunctionRef<void(std::span<std::byte>)> visit) {
  Context& context = *cache.context;
  std::vector<std::byte> before, values;
  for (const auto& layer : cache.layers) {
    ForEachArray(layer, [&](const cuda::DeviceBytes& array) {
      const Part part = BlockOf(array, cache.shape.blocks, block);
      before.resize(part.bytes);
      cuda_ops::Must(context.runtime->CopyToHost(before.data(), part.at, part.bytes, context.stream));
      cuda_ops::Must(context.runtime->Synchronize(context.stream));
      values = before;
      visit(values);
      if (values != before) cuda_ops::Must(context.staging->Copy(part.at, values));
    });
  }
}

#define INFERFLUX_KV_TYPE(E)                                                            \
  template Result<Cuda::KvCache<E>> Cuda::CreateKvCache(Context&, const KvShape&);      \
  template void Cuda::Append(Context&, KvCache<E>&, int32_t, View, View, const Batch&); \
  template void Cuda::CopyBlock(Context&, KvCache<E>&, int32_t, int32_t);               \
  template void Cuda::VisitKvBlock(KvCache<E>&, int32_t, FunctionRef<void(std::span<std::byte>)>);
INFERFLUX_KV_TYPE(KvFp32)
INFERFLUX_KV_TYPE(KvFp16)
INFERFLUX_KV_TYPE(KvBf16)
INFERFLUX_KV_TYPE(KvInt8)
INFERFLUX_KV_TYPE(KvFp8)
#undef INFERFLUX_KV_TYPE

}  // namespace inferflux::compute
