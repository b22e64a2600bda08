#include <cmath>

#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

template <int kPack>
using Floats = Pack<float, kPack>;

constexpr unsigned kNormThreads = 512;
constexpr int kNormPacks = 4;  // packs that a thread keeps from the sum of squares

// What is normalised: Load gives it, Keep stores it where others want it too, and Again gives it after Keep.
template <int kPack>
struct GivenRow {
  const Floats<kPack>* x;

  __device__ Floats<kPack> Load(int p) const { return x[p]; }
  __device__ void Keep(int, const Floats<kPack>&) const {}
  __device__ Floats<kPack> Again(int p) const { return x[p]; }
};

template <int kPack>
struct AddedRow {
  const Floats<kPack>* a;
  const Floats<kPack>* b;
  Floats<kPack>* sum;

  __device__ Floats<kPack> Load(int p) const {
    Floats<kPack> values = a[p];
    const Floats<kPack> added = b[p];
    for (int i = 0; i < kPack; ++i) values.x[i] += added.x[i];
    return values;
  }
  __device__ void Keep(int p, const Floats<kPack>& values) const { sum[p] = values; }
  __device__ Floats<kPack> Again(int p) const { return sum[p]; }
};

template <int kPack>
__device__ inline float AddSquares(const Floats<kPack>& values, float squares) {
  for (int i = 0; i < kPack; ++i) squares = fmaf(values.x[i], values.x[i], squares);
  return squares;
}

template <int kPack>
__device__ inline Floats<kPack> Scaled(const Floats<kPack>& values, float inverse, const Floats<kPack>& weights) {
  Floats<kPack> out;
  for (int i = 0; i < kPack; ++i) out.x[i] = values.x[i] * inverse * weights.x[i];
  return out;
}

// A block normalises `width` columns. Its first packs are read once, and their weights before the sum is waited for.
// Every norm is this function, so that the order of the sum is one.
template <int kPack, class Row>
__device__ inline void Normalise(const Row& row, const float* weight, int64_t width, float epsilon, float* y) {
  using Values = Floats<kPack>;
  const auto* weights = reinterpret_cast<const Values*>(weight);
  auto* to = reinterpret_cast<Values*>(y);
  const int packs = static_cast<int>(width / kPack);
  const int threads = static_cast<int>(BlockSize().x);
  const int thread = static_cast<int>(ThreadIndex().x);

  Values held[kNormPacks], held_weights[kNormPacks];
  for (int k = 0; k < kNormPacks; ++k) {
    const int p = thread + k * threads;
    held[k] = p < packs ? row.Load(p) : Values{};
    held_weights[k] = p < packs ? weights[p] : Values{};
  }
  float squares = 0.0f;
  for (int k = 0; k < kNormPacks; ++k) {
    const int p = thread + k * threads;
    if (p < packs) row.Keep(p, held[k]);
    squares = AddSquares<kPack>(held[k], squares);  // which zeros do not change
  }
  for (int p = thread + kNormPacks * threads; p < packs; p += threads) {
    const Values values = row.Load(p);
    row.Keep(p, values);
    squares = AddSquares<kPack>(values, squares);
  }
  squares = BlockSum(squares, SharedMemory<float>());
  const float inverse = 1.0f / sqrtf(squares / static_cast<float>(width) + epsilon);

  for (int k = 0; k < kNormPacks; ++k) {
    const int p = thread + k * threads;
    if (p < packs) to[p] = Scaled<kPack>(held[k], inverse, held_weights[k]);
  }
  for (int p = thread + kNormPacks * threads; p < packs; p += threads) {
    to[p] = Scaled<kPack>(row.Again(p), inverse, weights[p]);
  }
}

// A block normalises one run of columns of one row: blocks x are rows, of which there may be many, y runs.
template <int kPack>
__global__ void __launch_bounds__(kNormThreads, 2) RmsNormKernel(RmsNormParams params) {
  WaitForKernelsBefore();
  const int64_t first = int64_t{BlockIndex().y} * params.width;
  const int64_t row = BlockIndex().x;
  const float* x = params.x.data + row * params.x.stride + first;
  Normalise<kPack>(GivenRow<kPack>{reinterpret_cast<const Floats<kPack>*>(x)}, params.weight, params.width,
                   params.epsilon, params.y + row * params.x.columns + first);
}

// A block adds one row and normalises it.
template <int kPack>
__global__ void __launch_bounds__(kNormThreads, 2) AddRmsNormKernel(AddRmsNormParams params) {
  WaitForKernelsBefore();
  const int64_t row = BlockIndex().x;
  const int64_t columns = params.a.columns;
  const AddedRow<kPack> added{reinterpret_cast<const Floats<kPack>*>(params.a.data + row * params.a.stride),
                              reinterpret_cast<const Floats<kPack>*>(params.b.data + row * params.b.stride),
                              reinterpret_cast<Floats<kPack>*>(params.sum + row * columns)};
  Normalise<kPack>(added, params.weight, columns, params.epsilon, params.y + row * columns);
}

unsigned NormThreads(int64_t steps) { return RowThreads(steps, kNormThreads); }

}  // namespace

Status RmsNorm(const RmsNormParams& params, Stream stream) {
  const auto runs = static_cast<unsigned>(params.x.columns / params.width);
  const auto rows = static_cast<unsigned>(params.x.rows);
  if (Packs<float>(4, params.width, {params.x.stride}, {params.x.data, params.weight, params.y})) {
    return LaunchEarly(RmsNormKernel<4>, {rows, runs}, {NormThreads(params.width / 4)}, kReduceBytes, stream, params);
  }
  return LaunchEarly(RmsNormKernel<1>, {rows, runs}, {NormThreads(params.width)}, kReduceBytes, stream, params);
}

Status AddRmsNorm(const AddRmsNormParams& params, Stream stream) {
  const int64_t columns = params.a.columns;
  const auto rows = static_cast<unsigned>(params.a.rows);
  const bool packed = Packs<float>(4, columns, {}, {params.weight, params.sum, params.y});
  const bool loads = Packs<float>(4, columns, {params.a.stride, params.b.stride}, {params.a.data, params.b.data});
  if (packed && loads) {
    return LaunchEarly(AddRmsNormKernel<4>, {rows}, {NormThreads(columns / 4)}, kReduceBytes, stream, params);
  }
  if (!packed) return LaunchEarly(AddRmsNormKernel<1>, {rows}, {NormThreads(columns)}, kReduceBytes, stream, params);
  // The norm would add in packs, and the rows cannot be loaded so: in one kernel the last bits would be others.
  auto added = Add(params.a, params.b, {params.sum, params.a.rows, columns, columns}, stream);
  if (!added) return added;
  return RmsNorm({.x = {params.sum, params.a.rows, columns, columns},
                  .weight = params.weight,
                  .width = columns,
                  .epsilon = params.epsilon,
                  .y = params.y},
                 stream);
}

}  // namespace inferflux::cuda
