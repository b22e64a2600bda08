#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kGatherThreads = 256;

unsigned GatherBlocks(int64_t steps) { return static_cast<unsigned>((steps + kGatherThreads - 1) / kGatherThreads); }

// Blocks x are rows, of which there may be many, y share a row: one row of logits alone is half a megabyte.
template <int kPack>
__global__ void GatherRowsKernel(Rows<const float> x, const int32_t* rows, float* y) {
  using Values = Pack<float, kPack>;
  const int64_t row = BlockIndex().x;
  const int64_t pack = int64_t{BlockIndex().y} * kGatherThreads + ThreadIndex().x;
  if (pack >= x.columns / kPack) return;
  const Values values = reinterpret_cast<const Values*>(x.data + rows[row] * x.stride)[pack];
  reinterpret_cast<Values*>(y + row * x.columns)[pack] = values;
}

// Blocks x are rows, y share a row.
__global__ void GatherColumnsKernel(Rows<const float> x, const int32_t* columns, int64_t count, float* y) {
  const int64_t row = BlockIndex().x;
  const int64_t c = int64_t{BlockIndex().y} * kGatherThreads + ThreadIndex().x;
  if (c < count) y[row * count + c] = x.data[row * x.stride + columns[c]];
}

}  // namespace

Status GatherRows(Rows<const float> x, const int32_t* rows, int64_t count, float* y, Stream stream) {
  constexpr int kPack = kWidest<float>;
  const auto lines = static_cast<unsigned>(count);
  if (Packs<float>(kPack, x.columns, {x.stride}, {x.data, y})) {
    return Launch(GatherRowsKernel<kPack>, {lines, GatherBlocks(x.columns / kPack)}, {kGatherThreads}, 0, stream, x,
                  rows, y);
  }
  return Launch(GatherRowsKernel<1>, {lines, GatherBlocks(x.columns)}, {kGatherThreads}, 0, stream, x, rows, y);
}

Status GatherColumns(Rows<const float> x, const int32_t* columns, int64_t count, float* y, Stream stream) {
  return Launch(GatherColumnsKernel, {static_cast<unsigned>(x.rows), GatherBlocks(count)}, {kGatherThreads}, 0, stream,
                x, columns, count, y);
}

}  // namespace inferflux::cuda
