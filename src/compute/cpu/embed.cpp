#include "compute/cpu/row_ops.h"
#include "compute/host/check_matrix.h"
#include "formats/quant/dequantize.h"

namespace inferflux::compute {

host::Buffer Cpu::Embed(Context& context, const Table& table, const Batch& batch) {
  const HostMatrix& rows = table.rows;
  Buffer out = context.arena.Allocate(batch.rows(), rows.cols);
  cpu::ForRows(context, out.rows(), rows.cols, [&](int64_t r) {
    formats::DequantizeRow(rows.type, rows.data.data() + batch.tokens[r] * host::RowBytesOf(rows), out.row(r),
                           rows.cols);
  });
  return out;
}

}  // namespace inferflux::compute
