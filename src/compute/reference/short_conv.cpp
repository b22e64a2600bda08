#include <vector>

#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

host::Buffer Reference::ShortConv(Context& context, View x, View taps, States& states, int32_t layer,
                                  const Batch& batch) {
  Buffer out = context.arena.Allocate(x.rows, x.cols);
  const int64_t count = taps.cols / x.cols;
  std::vector<host::ConvRows> rows;
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    rows.emplace_back(x, count, states, layer, batch, s);
    for (int64_t r = batch.query_starts[s]; r < batch.query_starts[s + 1]; ++r) {
      rows.back().Convolve(taps, r, out.row(r));
    }
  }
  host::StoreConvStates(x, count, states, layer, batch, rows);
  return out;
}

host::Buffer Reference::Multiply(Context& context, View a, View b) {
  Buffer out = context.arena.Allocate(a.rows, a.cols);
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t c = 0; c < a.cols; ++c) out.row(r)[c] = a.row(r)[c] * b.row(r)[c];
  }
  return out;
}

}  // namespace inferflux::compute
