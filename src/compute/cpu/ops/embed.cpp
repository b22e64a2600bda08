#include "compute/cpu/ops/row_ops.h"
#include "compute/host/check_matrix.h"

namespace inferflux::compute {

host::Buffer Cpu::Embed(Context& context, const Table& table, const Batch& batch) {
  const HostMatrix& rows = table.rows;
  Buffer out = context.arena.Allocate(batch.rows(), rows.cols);
  cpu::ForRows(context, out.rows(), rows.cols, [&](int64_t r) { host::ReadRow(rows, batch.tokens[r], out.row(r)); });
  return out;
}

}  // namespace inferflux::compute
