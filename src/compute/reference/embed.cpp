#include <algorithm>

#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

host::Buffer Reference::Embed(Context& context, const Table& table, const Batch& batch) {
  Buffer out = context.arena.Allocate(batch.rows(), table.cols);
  for (int64_t r = 0; r < out.rows(); ++r) {
    std::copy_n(table.values.data() + batch.tokens[r] * table.cols, table.cols, out.row(r));
  }
  return out;
}

}  // namespace inferflux::compute
