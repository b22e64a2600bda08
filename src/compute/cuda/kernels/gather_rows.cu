#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kGatherThreads = 128;

// A block copies one row.
template <int kPack>
__global__ void GatherRowsKernel(Rows<const float> x, const int32_t* rows, float* y) {
  using Values = Pack<float, kPack>;
  const int64_t row = BlockIndex().x;
  const auto* from = reinterpret_cast<const Values*>(x.data + rows[row] * x.stride);
  auto* to = reinterpret_cast<Values*>(y + row * x.columns);
  const auto packs = static_cast<unsigned>(x.columns / kPack);
  for (unsigned p = ThreadIndex().x; p < packs; p += BlockSize().x) to[p] = from[p];
}

// A block gathers one row.
__global__ void GatherColumnsKernel(Rows<const float> x, const int32_t* columns, int64_t count, float* y) {
  const int64_t row = BlockIndex().x;
  for (int64_t c = ThreadIndex().x; c < count; c += BlockSize().x)
    y[row * count + c] = x.data[row * x.stride + columns[c]];
}

}  // namespace

Status GatherRows(Rows<const float> x, const int32_t* rows, int64_t count, float* y, Stream stream) {
  constexpr int kPack = kWidest<float>;
  const Dim3 grid{static_cast<unsigned>(count)};
  if (Packs<float>(kPack, x.columns, {x.stride}, {x.data, y})) {
    return Launch(GatherRowsKernel<kPack>, grid, {kGatherThreads}, 0, stream, x, rows, y);
  }
  return Launch(GatherRowsKernel<1>, grid, {kGatherThreads}, 0, stream, x, rows, y);
}

Status GatherColumns(Rows<const float> x, const int32_t* columns, int64_t count, float* y, Stream stream) {
  return Launch(GatherColumnsKernel, {static_cast<unsigned>(x.rows)}, {kGatherThreads}, 0, stream, x, columns, count,
                y);
}

}  // namespace inferflux::cuda
