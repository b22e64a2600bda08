#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::compute {
namespace {

// Whether these are rows 0, 1, ...: the rule in a decode step, where each row has an output. A copy needs no numbers.
bool AreTheFirst(std::span<const int32_t> rows) {
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r] != static_cast<int32_t>(r)) return false;
  }
  return true;
}

}  // namespace

Cuda::Buffer Cuda::Embed(Context& context, const Table& table, const Batch& batch) {
  Buffer out = cuda_ops::New(context, batch.geometry.rows(), table.cols);
  if (!out.memory) return out;
  cuda_ops::Must(cuda::EmbedRows(table.parts.front().weights, batch.tokens, out.rows, out.data(), context.stream));
  return out;
}

Cuda::Buffer Cuda::GatherRows(Context& context, View x, std::span<const int32_t> rows) {
  Buffer out = cuda_ops::New(context, std::ssize(rows), x.cols);
  if (!out.memory) return out;
  if (x.stride == x.cols && AreTheFirst(rows)) {
    const auto bytes = static_cast<size_t>(out.rows * out.cols) * sizeof(float);
    cuda_ops::Must(context.runtime->CopyOnDevice(out.data(), x.data, bytes, context.stream));
    return out;
  }
  const auto numbers = cuda_ops::Upload(context, rows);
  cuda_ops::Must(cuda::GatherRows(cuda_ops::RowsOf(x), static_cast<const int32_t*>(numbers.get()), out.rows, out.data(),
                                  context.stream));
  return out;
}

Cuda::Buffer Cuda::GatherColumns(Context& context, View x, std::span<const int32_t> columns) {
  Buffer out = cuda_ops::New(context, x.rows, std::ssize(columns));
  if (!out.memory) return out;
  const auto numbers = cuda_ops::Upload(context, columns);
  cuda_ops::Must(cuda::GatherColumns(cuda_ops::RowsOf(x), static_cast<const int32_t*>(numbers.get()), out.cols,
                                     out.data(), context.stream));
  return out;
}

}  // namespace inferflux::compute
