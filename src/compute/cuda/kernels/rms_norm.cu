#include <cmath>

#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// A block normalises one run of columns of one row: blocks x are rows, of which there may be many, y runs.
template <class T, int kPack>
__global__ void RmsNormKernel(RmsNormParams<T> params) {
  using Values = Pack<T, kPack>;
  const int64_t first = int64_t{BlockIndex().y} * params.width;
  const int64_t row = BlockIndex().x;
  const T* x = params.x.data + row * params.x.stride + first;
  const int64_t dense = row * params.x.columns + first;
  const int packs = static_cast<int>(params.width / kPack);
  const int threads = static_cast<int>(BlockSize().x);
  const int thread = static_cast<int>(ThreadIndex().x);

  float squares = 0.0f;
  for (int p = thread; p < packs; p += threads) {
    Values values = reinterpret_cast<const Values*>(x)[p];
    if (params.residual != nullptr) {
      const Values more = reinterpret_cast<const Values*>(params.residual + dense)[p];
      for (int i = 0; i < kPack; ++i) values.x[i] = FromFloat<T>(AsFloat(values.x[i]) + AsFloat(more.x[i]));
      reinterpret_cast<Values*>(params.sum + dense)[p] = values;
    }
    for (int i = 0; i < kPack; ++i) squares = fmaf(AsFloat(values.x[i]), AsFloat(values.x[i]), squares);
  }
  squares = BlockSum(squares, SharedMemory<float>());
  const float inverse = 1.0f / sqrtf(squares / static_cast<float>(params.width) + params.epsilon);

  const T* source = params.residual != nullptr ? params.sum + dense : x;  // each thread reads what it wrote itself
  for (int p = thread; p < packs; p += threads) {
    const Values values = reinterpret_cast<const Values*>(source)[p];
    const auto weights = reinterpret_cast<const Pack<float, kPack>*>(params.weight)[p];
    Values out;
    for (int i = 0; i < kPack; ++i) out.x[i] = FromFloat<T>(AsFloat(values.x[i]) * inverse * weights.x[i]);
    reinterpret_cast<Values*>(params.y + dense)[p] = out;
  }
}

}  // namespace

template <class T>
Status RmsNorm(const RmsNormParams<T>& params, Stream stream) {
  const auto runs = static_cast<unsigned>(params.x.columns / params.width);
  const auto rows = static_cast<unsigned>(params.x.rows);
  // Four weights are 16 bytes, and as many elements are at most that.
  const bool packed =
      Packs<T>(4, params.width, {params.x.stride}, {params.x.data, params.residual, params.sum, params.y}) &&
      Packs<float>(4, params.width, {}, {params.weight});
  if (packed) {
    return Launch(RmsNormKernel<T, 4>, {rows, runs}, {RowThreads(params.width / 4)}, kReduceBytes, stream, params);
  }
  return Launch(RmsNormKernel<T, 1>, {rows, runs}, {RowThreads(params.width)}, kReduceBytes, stream, params);
}

template Status RmsNorm(const RmsNormParams<float>&, Stream);
template Status RmsNorm(const RmsNormParams<Fp16>&, Stream);
template Status RmsNorm(const RmsNormParams<Bf16>&, Stream);

}  // namespace inferflux::cuda
