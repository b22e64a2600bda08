#include <algorithm>
#include <concepts>

#include "compute/cuda/backend/operation.h"

namespace inferflux::compute {
namespace {

const Cuda::Batch::Tiles& TilesOf(Cuda::Context& context, const Cuda::Batch& batch, int32_t group) {
  auto [found, created] = batch.tiles.try_emplace(group);
  if (created) {
    const auto tiles = cuda::AttentionTiles(batch.geometry, group);
    found->second.memory = cuda_ops::Upload<cuda::AttentionTile>(context, tiles);
    found->second.count = static_cast<int32_t>(tiles.size());
    for (const auto& tile : tiles) found->second.most_queries = std::max(found->second.most_queries, tile.queries);
  }
  return found->second;
}

// Whether there is a kernel with tensor cores.
template <class E>
bool HasTiles(const AttentionParams& params, const Cuda::View& sinks, const Cuda::View& biases) {
  if constexpr (!std::same_as<E, KvFp16> && !std::same_as<E, KvBf16>) return false;
  const bool width = params.head_dim == 32 || params.head_dim == 64 || params.head_dim == 128;
  return width && params.heads / params.kv_heads <= 64 && sinks.cols == 0 && biases.cols == 0;
}

// How many chunks of KV become blocks of their own; 0: none. Only where tiles alone do not fill the device.
int32_t ChunksToSplit(const Cuda::Context& context, const Cuda::Batch& batch, int64_t tiles) {
  const int32_t last = std::max(batch.geometry.most_tokens - 1, *std::ranges::max_element(batch.geometry.positions));
  const int32_t chunks = last / cuda::kAttentionChunk + 1;
  return chunks > 1 && tiles < 2 * int64_t{context.multiprocessors} ? chunks : 0;
}

}  // namespace

template <class E>
Cuda::Buffer Cuda::AttendWith(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                              const AttentionParams& params, View sinks, View biases) {
  using S = typename E::Storage;
  Buffer out = cuda_ops::New(context, q.rows, q.cols);
  if (!out.memory) return out;
  const cuda::KvPointers<S> kv = cache.layers[layer].pointers();
  if constexpr (std::same_as<E, KvFp16> || std::same_as<E, KvBf16>) {
    if (HasTiles<E>(params, sinks, biases)) {
      Buffer aligned;
      if (reinterpret_cast<uintptr_t>(q.data) % 16 != 0 || q.stride % 4 != 0) q = aligned = Scale(context, q, 1.0f);
      const Batch::Tiles& tiles = TilesOf(context, batch, params.heads / params.kv_heads);
      const int32_t chunks = ChunksToSplit(context, batch, int64_t{tiles.count} * params.kv_heads);
      Buffer partial;
      if (chunks > 0) partial = cuda_ops::New(context, q.rows * params.heads * chunks, params.head_dim + 2);
      cuda_ops::Must(cuda::Attend<S>({.q = cuda_ops::RowsOf(q),
                                      .keys = kv.keys,
                                      .values = kv.values,
                                      .step = batch.arrays,
                                      .tiles = static_cast<const cuda::AttentionTile*>(tiles.memory.get()),
                                      .tile_count = tiles.count,
                                      .most_queries = tiles.most_queries,
                                      .params = params,
                                      .y = out.data(),
                                      .chunks = chunks,
                                      .partial = partial.data()},
                                     context.stream));
      return out;
    }
  }
  cuda_ops::Must(cuda::AttendPlainly<S>({.q = cuda_ops::RowsOf(q),
                                         .kv = {kv.keys, kv.values, kv.key_scales, kv.value_scales},
                                         .step = batch.arrays,
                                         .params = params,
                                         .sinks = sinks.data,
                                         .biases = biases.data,
                                         .distances = biases.cols / params.heads,
                                         .y = out.data()},
                                        context.stream));
  return out;
}

#define INFERFLUX_KV_TYPE(E)                                                                       \
  template Cuda::Buffer Cuda::AttendWith(Context&, View, const KvCache<E>&, int32_t, const Batch&, \
                                         const AttentionParams&, View, View);
INFERFLUX_KV_TYPE(KvFp32)
INFERFLUX_KV_TYPE(KvFp16)
INFERFLUX_KV_TYPE(KvBf16)
INFERFLUX_KV_TYPE(KvInt8)
INFERFLUX_KV_TYPE(KvFp8)
#undef INFERFLUX_KV_TYPE

}  // namespace inferflux::compute
