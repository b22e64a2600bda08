#include "compute/cuda/kernels/moe.h"

#include <cmath>

#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/rank.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

using compute::ExpertScore;
using compute::RoutingParams;

constexpr unsigned kCombineThreads = 256;

// The softmax or sigmoid of a row's logits, by a warp. SparseMixer's scores are the logits.
__device__ inline void ScoreExperts(const float* logits, int count, ExpertScore kind, float* scores) {
  if (kind == ExpertScore::kSigmoid) {
    for (int e = Lane(); e < count; e += kWarpSize) scores[e] = 1.0f / (1.0f + expf(-logits[e]));
    SyncWarp();
    return;
  }
  if (kind == ExpertScore::kSparseMixer) {
    for (int e = Lane(); e < count; e += kWarpSize) scores[e] = logits[e];
    SyncWarp();
    return;
  }
  float largest = -INFINITY;
  for (int e = Lane(); e < count; e += kWarpSize) largest = fmaxf(largest, logits[e]);
  largest = WarpMax(largest);
  float sum = 0.0f;
  for (int e = Lane(); e < count; e += kWarpSize) sum += scores[e] = expf(logits[e] - largest);
  sum = WarpSum(sum);
  for (int e = Lane(); e < count; e += kWarpSize) scores[e] /= sum;
  SyncWarp();
}

// The best of `count` ranks, in every lane; it is taken out: zero ranks are left.
__device__ inline int32_t TakeBest(unsigned long long* ranks, int count) {
  unsigned long long best = 0;
  for (int e = Lane(); e < count; e += kWarpSize) best = ranks[e] > best ? ranks[e] : best;
  best = WarpMax(best);
  SyncWarp();
  const int32_t index = IndexOfRank(best);
  if (Lane() == 0) ranks[index] = 0;
  SyncWarp();
  return index;
}

// The weight of the best of the experts that are left: of those whose rank is not zero, and itself.
__device__ inline float MixedWeight(const float* logits, const unsigned long long* ranks, int count, int32_t best,
                                    float tolerance) {
  const float largest = logits[best];
  float sum = 0.0f;
  for (int e = Lane(); e < count; e += kWarpSize) {
    if (ranks[e] == 0 && e != best) continue;
    if (largest - logits[e] <= tolerance * fmaxf(fabsf(logits[e]), largest)) sum += expf(logits[e] - largest);
  }
  return 1.0f / WarpSum(sum);
}

// A warp takes one row. Shared: a rank for each expert and group, and the experts' scores.
__global__ void RouteKernel(Rows<const float> logits, const float* biases, RoutingParams params, int32_t* experts,
                            float* weights) {
  const int64_t row = BlockIndex().x;
  const int count = static_cast<int>(logits.columns);
  auto* ranks = SharedMemory<unsigned long long>();
  auto* group_ranks = ranks + count;
  auto* scores = reinterpret_cast<float*>(group_ranks + params.groups);
  ScoreExperts(logits.data + row * logits.stride, count, params.score, scores);
  const auto choice = [&](int e) { return scores[e] + (biases != nullptr ? biases[e] : 0.0f); };
  for (int e = Lane(); e < count; e += kWarpSize) ranks[e] = RankOf(choice(e), e);
  SyncWarp();

  if (params.groups > 1) {
    const int size = count / params.groups;
    for (int g = Lane(); g < params.groups; g += kWarpSize) {
      unsigned long long first = 0, second = 0;  // of the group's ranks
      for (int e = g * size; e < (g + 1) * size; ++e) {
        if (ranks[e] > first) {
          second = first;
          first = ranks[e];
        } else if (ranks[e] > second) {
          second = ranks[e];
        }
      }
      float sum = choice(IndexOfRank(first));
      if (size > 1 && params.group_scores > 1) sum += choice(IndexOfRank(second));
      group_ranks[g] = RankOf(sum, g);
    }
    SyncWarp();
    for (int i = 0; i < params.used_groups; ++i) TakeBest(group_ranks, params.groups);
    for (int e = Lane(); e < count; e += kWarpSize) {
      if (group_ranks[e / size] != 0) ranks[e] = 0;  // its group was not taken
    }
    SyncWarp();
  }

  float chosen = 0.0f;
  for (int i = 0; i < params.used; ++i) {
    const int32_t best = TakeBest(ranks, count);
    if (Lane() == 0) experts[row * params.used + i] = best;
    if (params.score == ExpertScore::kSparseMixer) {
      const float weight = MixedWeight(scores, ranks, count, best, params.tolerance);
      if (Lane() == 0) weights[row * params.used + i] = weight * params.scale;
    } else {
      chosen += scores[best];
    }
  }
  SyncWarp();
  if (params.score == ExpertScore::kSparseMixer) return;
  const float whole = params.normalise ? fmaxf(chosen, compute::kLeastScoreSum) : 1.0f;
  for (int i = Lane(); i < params.used; i += kWarpSize) {
    weights[row * params.used + i] = scores[experts[row * params.used + i]] / whole * params.scale;
  }
}

// Blocks x are lines, y share a line.
template <bool kAdd>
__global__ void ExpertTermsKernel(Rows<const float> x, const int32_t* experts, const float* terms, Rows<float> y) {
  const int64_t line = BlockIndex().x;
  const int64_t column = int64_t{BlockIndex().y} * BlockSize().x + ThreadIndex().x;
  if (column >= x.columns) return;
  const float value = x.data[line * x.stride + column];
  const float term = terms[experts[line] * x.columns + column];
  y.data[line * y.stride + column] = kAdd ? value + term : value * term;
}

// Blocks x are rows, y share a row.
__global__ void CombineKernel(Rows<const float> lines, int used, const float* weights, Rows<float> y) {
  const int64_t row = BlockIndex().x;
  const int64_t column = int64_t{BlockIndex().y} * BlockSize().x + ThreadIndex().x;
  if (column >= y.columns) return;
  float sum = 0.0f;
  for (int64_t l = row * used; l < (row + 1) * used; ++l) sum += weights[l] * lines.data[l * lines.stride + column];
  y.data[row * y.stride + column] = sum;
}

Dim3 GridOf(const Rows<float>& y) {
  return {static_cast<unsigned>(y.rows), static_cast<unsigned>((y.columns + kCombineThreads - 1) / kCombineThreads)};
}

}  // namespace

Status RouteRows(Rows<const float> logits, const float* biases, const RoutingParams& params, int32_t* experts,
                 float* weights, Stream stream) {
  const int64_t bytes =
      (logits.columns + params.groups) * static_cast<int64_t>(sizeof(unsigned long long)) + logits.columns * 4;
  return Launch(RouteKernel, {static_cast<unsigned>(logits.rows)}, {kWarpSize}, static_cast<size_t>(bytes), stream,
                logits, biases, params, experts, weights);
}

Status AddExpertBias(Rows<const float> x, const int32_t* experts, const float* biases, Rows<float> y, Stream stream) {
  return Launch(ExpertTermsKernel<true>, GridOf(y), {kCombineThreads}, 0, stream, x, experts, biases, y);
}

Status ScaleExpertColumns(Rows<const float> x, const int32_t* experts, const float* scales, Rows<float> y,
                          Stream stream) {
  return Launch(ExpertTermsKernel<false>, GridOf(y), {kCombineThreads}, 0, stream, x, experts, scales, y);
}

Status CombineLines(Rows<const float> lines, int32_t used, const float* weights, Rows<float> y, Stream stream) {
  return Launch(CombineKernel, GridOf(y), {kCombineThreads}, 0, stream, lines, used, weights, y);
}

}  // namespace inferflux::cuda
