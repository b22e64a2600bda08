// Attention over latents, the selection of positions, and the products of heads.
#include "compute/cuda/kernels/latents/latents.h"

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "compute/cuda/backend/narrowed.h"
#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/narrow.h"

namespace inferflux::compute {
namespace {

constexpr int64_t kScoredAtOnce = 128;  // rows: enough to fill a device, and few enough that their scores fit

// Blocks of split attention at a time, whose results wait in memory: enough to fill any device.
constexpr int64_t kBlocksAtOnce = 1024;
constexpr int64_t kHeadsOfBlock = 8;

template <class T>
cuda::Rows<T> Part(cuda::Rows<T> x, int64_t first, int64_t count) {
  return {x.data + first * x.stride, count, x.columns, x.stride};
}

// Rows [first, first + count) of the step, of arrays by row.
template <class S>
cuda::LatentArguments<S> Part(cuda::LatentArguments<S> a, int64_t first, int64_t count) {
  a.q = Part(a.q, first, count);
  a.rotated = Part(a.rotated, first, count);
  a.step.positions += first;
  a.step.sequences += first;
  if (a.selected.positions != nullptr) a.selected.positions += first * a.selected.top;
  a.y += first * a.heads * a.latent;
  return a;
}

// Whether there is a kernel with tensor cores.
template <class E>
bool HasTiles(const AttentionParams& params, int32_t latent) {
  if constexpr (!std::same_as<E, KvFp16> && !std::same_as<E, KvBf16>) return false;
  return latent == cuda::kTiledLatent && params.head_dim == cuda::kTiledLatent + cuda::kTiledRotated;
}

// x rounded to T, in memory of the arena.
template <class T>
struct Rounded {
  cuda::ArenaPiece memory;
  cuda::Rows<const T> rows;

  Rounded(Cuda::Context& context, const Cuda::View& x)
      : memory(cuda_ops::Must(context.arena->Allocate(static_cast<size_t>(x.rows * x.cols) * sizeof(T)))),
        rows{static_cast<const T*>(memory.get()), x.rows, x.cols, x.cols} {
    cuda_ops::Must(
        cuda::Narrow<T>(cuda_ops::RowsOf(x), x.cols, static_cast<T*>(memory.get()), nullptr, context.stream));
  }
};

// No row of the step sees more positions.
int32_t LongestOf(const StepGeometry& step) {
  return std::max(step.most_tokens, *std::ranges::max_element(step.positions) + 1);
}

}  // namespace

// In float for few rows, and where tiles cannot multiply: F32 weights, and inputs that do not fill their steps.
Cuda::Buffer Cuda::HeadMatMul(Context& context, View x, const Experts& heads) {
  Buffer out = cuda_ops::New(context, x.rows, heads.count * heads.rows);
  if (!out.memory) return out;
  const int64_t inputs = x.cols / heads.count;
  const cuda::Heads all{.count = heads.count, .x_columns = inputs, .y_columns = heads.rows};
  cuda_ops::Narrowed<Fp16> halves;
  cuda_ops::Narrowed<Bf16> brain_floats;
  const auto of_first = [&](const auto& rows) {
    auto first = rows;
    first.columns = inputs;
    return first;
  };
  for (const WeightPart& part : heads.parts) {
    const cuda::WeightMatrix& w = part.weights;
    const auto y = cuda_ops::ColumnsOf(out, part.first, w.rows);
    if (x.rows <= cuda_ops::kFewRows || w.type == formats::TensorType::kF32 || inputs % 16 != 0) {
      cuda_ops::Must(cuda::MultiplyHeads(of_first(cuda_ops::RowsOf(x)), all, w, y, context.stream));
    } else if (cuda_ops::TakesBf16(w.type)) {
      const auto elements = of_first(brain_floats.Of(context, x));
      cuda_ops::Must(cuda::MultiplyHeads(elements, brain_floats.scales(), all, w, y, context.stream));
    } else {
      const auto elements = of_first(halves.Of(context, x));
      cuda_ops::Must(cuda::MultiplyHeads(elements, halves.scales(), all, w, y, context.stream));
    }
  }
  return out;
}

template <class E>
void Cuda::AppendLatents(Context& context, KvCache<E>& cache, int32_t layer, View latents, View rotated,
                         const Batch& batch) {
  if (latents.rows == 0) return;
  cuda_ops::Must(cuda::AppendLatents(cuda_ops::RowsOf(latents), cuda_ops::RowsOf(rotated), batch.slots,
                                     cache.layers[layer].pointers(), context.stream));
}

template <class E>
void Cuda::AppendIndex(Context& context, KvCache<E>& cache, int32_t layer, View k, const Batch& batch) {
  if (k.rows == 0) return;
  cuda_ops::Must(cuda::AppendIndex(cuda_ops::RowsOf(k), batch.slots, cache.layers[layer].pointers(), context.stream));
}

template <class E>
Cuda::Buffer Cuda::AttendLatents(Context& context, View q, View rotated, const KvCache<E>& cache, int32_t layer,
                                 const Batch& batch, const AttentionParams& params, const Selection* selected) {
  Buffer out = cuda_ops::New(context, q.rows, q.cols);
  if (!out.memory) return out;
  const auto kv = cache.layers[layer].pointers();
  const auto latent = static_cast<int32_t>(q.cols / params.heads);
  int32_t longest = LongestOf(batch.geometry);
  cuda::SelectedPositions chosen;
  if (selected != nullptr && selected->memory) {
    chosen = {static_cast<const int32_t*>(selected->memory.get()), selected->top};
    longest = std::min(longest, selected->top);
  }
  const int32_t chunks = (longest + cuda::kLatentChunk - 1) / cuda::kLatentChunk;
  const int64_t runs = (params.heads + kHeadsOfBlock - 1) / kHeadsOfBlock;
  const int64_t at_once = chunks == 1 ? q.rows : std::clamp(kBlocksAtOnce / (runs * chunks), int64_t{1}, q.rows);
  const Buffer partial =
      cuda_ops::New(context, chunks == 1 ? 0 : at_once, int64_t{params.heads} * chunks * (latent + 2));
  const cuda::LatentArguments<typename E::Storage> all{.q = cuda_ops::RowsOf(q),
                                                       .rotated = cuda_ops::RowsOf(rotated),
                                                       .kv = {kv.keys, kv.values, kv.key_scales, kv.value_scales},
                                                       .step = batch.arrays,
                                                       .heads = params.heads,
                                                       .latent = latent,
                                                       .width = params.head_dim,
                                                       .scale = params.scale,
                                                       .selected = chosen,
                                                       .y = out.data(),
                                                       .chunks = chunks,
                                                       .partial = partial.data()};
  if constexpr (std::same_as<E, KvFp16> || std::same_as<E, KvBf16>) {
    if (HasTiles<E>(params, latent)) {
      const Rounded<typename E::Storage> narrow(context, q), narrow_rotated(context, rotated);
      for (int64_t first = 0; first < q.rows; first += at_once) {
        const int64_t count = std::min(at_once, q.rows - first);
        cuda_ops::Must(cuda::AttendLatentsByTiles(Part(all, first, count), Part(narrow.rows, first, count),
                                                  Part(narrow_rotated.rows, first, count), context.stream));
      }
      return out;
    }
  }
  for (int64_t first = 0; first < q.rows; first += at_once) {
    const int64_t count = std::min(at_once, q.rows - first);
    cuda_ops::Must(cuda::AttendLatents(Part(all, first, count), context.stream));
  }
  return out;
}

template <class E>
Cuda::Selection Cuda::SelectPositions(Context& context, View q, View weights, const KvCache<E>& cache, int32_t layer,
                                      const Batch& batch, const IndexParams& params) {
  Selection out{.memory = {}, .top = params.top};
  const int32_t length = q.rows == 0 ? 0 : LongestOf(batch.geometry);
  if (length <= params.top) return out;
  out.memory = cuda_ops::Must(context.arena->Allocate(static_cast<size_t>(q.rows * params.top) * sizeof(int32_t)));
  auto* positions = static_cast<int32_t*>(out.memory.get());
  const int64_t at_once = std::min(kScoredAtOnce, q.rows);
  const Buffer scores = cuda_ops::New(context, at_once, length);
  const auto kv = cache.layers[layer].pointers();
  for (int64_t first = 0; first < q.rows; first += at_once) {
    const int64_t count = std::min(at_once, q.rows - first);
    cuda_ops::Must(
        cuda::ScorePositions<typename E::Storage>({.q = cuda_ops::RowsOf(q),
                                                   .weights = cuda_ops::RowsOf(weights),
                                                   .kv = {kv.keys, kv.values, kv.key_scales, kv.value_scales},
                                                   .step = batch.arrays,
                                                   .params = params,
                                                   .first = first,
                                                   .count = count,
                                                   .length = length,
                                                   .scores = scores.data()},
                                                  context.stream));
    cuda_ops::Must(cuda::BestPositions(scores.data(), length, batch.arrays.positions, first, count, params.top,
                                       positions + first * params.top, context.stream));
  }
  return out;
}

#define INFERFLUX_KV_TYPE(E)                                                                                     \
  template void Cuda::AppendLatents(Context&, KvCache<E>&, int32_t, View, View, const Batch&);                   \
  template void Cuda::AppendIndex(Context&, KvCache<E>&, int32_t, View, const Batch&);                           \
  template Cuda::Buffer Cuda::AttendLatents(Context&, View, View, const KvCache<E>&, int32_t, const Batch&,      \
                                            const AttentionParams&, const Selection*);                           \
  template Cuda::Selection Cuda::SelectPositions(Context&, View, View, const KvCache<E>&, int32_t, const Batch&, \
                                                 const IndexParams&);
INFERFLUX_KV_TYPE(KvFp32)
INFERFLUX_KV_TYPE(KvFp16)
INFERFLUX_KV_TYPE(KvBf16)
INFERFLUX_KV_TYPE(KvInt8)
INFERFLUX_KV_TYPE(KvFp8)
#undef INFERFLUX_KV_TYPE

}  // namespace inferflux::compute
