#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/products/products.h"
#include "compute/cuda/kernels/products/weight_rows.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kEmbedRowThreads = 64;

// A block unpacks one row.
template <class R>
__global__ void EmbedRowsKernel(WeightMatrix table, const int32_t* tokens, float* y) {
  const int64_t row = BlockIndex().x;
  const uint8_t* weights = table.data + tokens[row] * table.row_bytes;
  for (int64_t group = ThreadIndex().x; group * kGroup < table.columns; group += BlockSize().x) {
    float values[kGroup];
    R::Unpack(weights, table.columns, group, values);
    for (int i = 0; i < kGroup && group * kGroup + i < table.columns; ++i) {
      y[row * table.columns + group * kGroup + i] = values[i];
    }
  }
}

}  // namespace

Status EmbedRows(const WeightMatrix& table, const int32_t* tokens, int64_t count, float* y, Stream stream) {
  Status out;
  const bool known = WithWeightRows(table.type, [&]<class R>() {
    out = Launch(EmbedRowsKernel<R>, {static_cast<unsigned>(count)}, {kEmbedRowThreads}, 0, stream, table, tokens, y);
  });
  if (!known) {
    return Fail(ErrorCode::kUnsupported, "no kernel unpacks {}", formats::TensorTypeName(table.type));
  }
  return out;
}

}  // namespace inferflux::cuda
