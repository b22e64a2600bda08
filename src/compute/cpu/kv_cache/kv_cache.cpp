#include <algorithm>
#include <type_traits>

#include "base/checked_math.h"
#include "compute/cpu/ops/row_ops.h"
#include "compute/host/kv_element.h"

namespace inferflux::compute {

template <class E>
Result<Cpu::KvCache<E>> Cpu::CreateKvCache(Context&, const KvShape& shape) {
  if (auto checked = CheckKvShape(shape); !checked) return Forward(checked);
  if (cpu::kSpan % shape.block_size != 0 && shape.block_size % cpu::kSpan != 0) {
    return Fail(ErrorCode::kInvalidArgument, "KV blocks of {} positions: must divide {} or be a multiple of it",
                shape.block_size, cpu::kSpan);
  }
  // Padding grows both tensors together by less than 16 * 16 times, so this bounds every multiplication below.
  std::optional<uint64_t> bytes = 0;
  for (const KvGeometry& layer : shape.layers) {
    std::optional<uint64_t> own = uint64_t{256} * sizeof(typename E::Storage) * 2;
    const int32_t width = std::max(layer.first_row(), layer.second_row());
    for (const int32_t factor : {layer.heads, width, shape.blocks, shape.block_size}) {
      if (own) own = CheckedMul(*own, static_cast<uint64_t>(factor));
    }
    bytes = bytes && own ? CheckedAdd(*bytes, *own) : std::nullopt;
  }
  if (!bytes || *bytes > (uint64_t{1} << 62)) {
    return Fail(ErrorCode::kResourceExhausted, "a KV cache of {} blocks of {} positions overflows; ask for fewer",
                shape.blocks, shape.block_size);
  }
  KvCache<E> cache{.shape = shape, .pages = {}};
  int64_t elements = 0;
  for (int32_t layer = 0; layer < std::ssize(shape.layers); ++layer) {
    cache.starts.push_back(elements);
    elements += cache.layer_elements(layer);
  }
  // A new block has a place in each layer. With huge pages its first use cleared 2 MiB in each: 20 to 60 ms at once.
  auto pages = host::Pages::Allocate(static_cast<size_t>(elements) * sizeof(typename E::Storage), "the KV cache",
                                     host::Pages::Size::kSmall);
  if (!pages) return Forward(pages);
  cache.pages = std::move(*pages);
  return cache;
}

namespace {

// One head of a position, as stored. The scale is 1 in types without scales.
template <class T>
void Round(const cpu::Kernels& kernels, const float* from, float scale, int32_t count, T* to) {
  if constexpr (std::is_same_v<T, Fp16>) {
    kernels.round_fp16(from, count, to);
  } else {
    for (int32_t i = 0; i < count; ++i) to[i] = host::KvElement<T>(from[i] / scale);
  }
}

constexpr int32_t kPiece = 64;  // dimensions of a key that are rounded before they are scattered

}  // namespace

template <class E>
void Cpu::Append(Context& context, KvCache<E>& cache, int32_t layer, View k, View v, const Batch& batch) {
  using T = typename E::Storage;
  const int32_t heads = cache.shape.layers[layer].heads, head_dim = cache.shape.layers[layer].head_dim;
  const int64_t width = cpu::PaddedHead(head_dim);
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    const int32_t first = batch.query_starts[s];
    // A few long runs of positions: adjacent keys share cache lines.
    cpu::ForRows(context, batch.query_starts[s + 1] - first, k.cols, [&](int64_t i) {
      const int64_t r = first + i;
      const int32_t position = batch.positions[r];
      const int32_t block = batch.block_tables[batch.table_starts[s] + position / batch.block_size];
      const int32_t inside = position % batch.block_size;
      for (int32_t h = 0; h < heads; ++h) {
        T* keys = cache.keys(layer, block, h) + inside / cpu::kLanes * head_dim * cpu::kLanes + inside % cpu::kLanes;
        T* values = cache.values(layer, block, h) + inside * width;
        const float* key = k.row(r) + h * head_dim;
        const float* value = v.row(r) + h * head_dim;
        const float key_scale = host::KvScale<T>(key, head_dim);
        const float value_scale = host::KvScale<T>(value, head_dim);
        for (int32_t first_dim = 0; first_dim < head_dim; first_dim += kPiece) {
          T piece[kPiece];
          const int32_t count = std::min(kPiece, head_dim - first_dim);
          Round(context.kernels, key + first_dim, key_scale, count, piece);
          for (int32_t d = 0; d < count; ++d) keys[(first_dim + d) * cpu::kLanes] = piece[d];
        }
        Round(context.kernels, value, value_scale, head_dim, values);
        if constexpr (E::kScaled) {
          cache.key_scales(layer, block, h)[inside] = key_scale;
          cache.value_scales(layer, block, h)[inside] = value_scale;
        }
      }
    });
  }
}

template <class E>
void Cpu::CopyBlock(Context&, KvCache<E>& cache, int32_t from, int32_t to) {
  for (int32_t layer = 0; layer < std::ssize(cache.shape.layers); ++layer) {
    std::copy_n(cache.keys(layer, from, 0), cache.block_keys(layer), cache.keys(layer, to, 0));
    std::copy_n(cache.values(layer, from, 0), cache.block_values(layer), cache.values(layer, to, 0));
  }
}

template <class E>
void Cpu::VisitKvBlock(KvCache<E>& cache, int32_t block, FunctionRef<void(std::span<std::byte>)> visit) {
  for (int32_t layer = 0; layer < std::ssize(cache.shape.layers); ++layer) {
    if (cache.shape.layers[layer].heads == 0) continue;
    const auto keys = static_cast<size_t>(cache.block_keys(layer));
    const auto values = static_cast<size_t>(cache.block_values(layer));
    visit(std::as_writable_bytes(std::span(cache.keys(layer, block, 0), keys)));
    visit(std::as_writable_bytes(std::span(cache.values(layer, block, 0), values)));
  }
}

template Result<Cpu::KvCache<KvFp32>> Cpu::CreateKvCache<KvFp32>(Context&, const KvShape&);
template Result<Cpu::KvCache<KvFp16>> Cpu::CreateKvCache<KvFp16>(Context&, const KvShape&);
template Result<Cpu::KvCache<KvBf16>> Cpu::CreateKvCache<KvBf16>(Context&, const KvShape&);
template void Cpu::Append<KvFp32>(Context&, KvCache<KvFp32>&, int32_t, View, View, const Batch&);
template void Cpu::Append<KvFp16>(Context&, KvCache<KvFp16>&, int32_t, View, View, const Batch&);
template void Cpu::Append<KvBf16>(Context&, KvCache<KvBf16>&, int32_t, View, View, const Batch&);
template void Cpu::CopyBlock<KvFp32>(Context&, KvCache<KvFp32>&, int32_t, int32_t);
template void Cpu::CopyBlock<KvFp16>(Context&, KvCache<KvFp16>&, int32_t, int32_t);
template void Cpu::CopyBlock<KvBf16>(Context&, KvCache<KvBf16>&, int32_t, int32_t);
template Result<Cpu::KvCache<KvInt8>> Cpu::CreateKvCache<KvInt8>(Context&, const KvShape&);
template void Cpu::Append<KvInt8>(Context&, KvCache<KvInt8>&, int32_t, View, View, const Batch&);
template void Cpu::CopyBlock<KvInt8>(Context&, KvCache<KvInt8>&, int32_t, int32_t);
template Result<Cpu::KvCache<KvFp8>> Cpu::CreateKvCache<KvFp8>(Context&, const KvShape&);
template void Cpu::Append<KvFp8>(Context&, KvCache<KvFp8>&, int32_t, View, View, const Batch&);
template void Cpu::CopyBlock<KvFp8>(Context&, KvCache<KvFp8>&, int32_t, int32_t);
template void Cpu::VisitKvBlock<KvFp32>(KvCache<KvFp32>&, int32_t, FunctionRef<void(std::span<std::byte>)>);
template void Cpu::VisitKvBlock<KvFp16>(KvCache<KvFp16>&, int32_t, FunctionRef<void(std::span<std::byte>)>);
template void Cpu::VisitKvBlock<KvBf16>(KvCache<KvBf16>&, int32_t, FunctionRef<void(std::span<std::byte>)>);
template void Cpu::VisitKvBlock<KvInt8>(KvCache<KvInt8>&, int32_t, FunctionRef<void(std::span<std::byte>)>);
template void Cpu::VisitKvBlock<KvFp8>(KvCache<KvFp8>&, int32_t, FunctionRef<void(std::span<std::byte>)>);

}  // namespace inferflux::compute
