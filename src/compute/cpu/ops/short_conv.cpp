#include <vector>

#include "compute/cpu/ops/row_ops.h"

namespace inferflux::compute {

host::Buffer Cpu::ShortConv(Context& context, View x, View taps, States& states, int32_t layer, const Batch& batch) {
  Buffer out = context.arena.Allocate(x.rows, x.cols);
  const int64_t count = taps.cols / x.cols;
  std::vector<host::ConvRows> rows;
  std::vector<int32_t> sequence_of(static_cast<size_t>(x.rows));
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    rows.emplace_back(x, count, states, layer, batch, s);
    std::fill(sequence_of.begin() + batch.query_starts[s], sequence_of.begin() + batch.query_starts[s + 1], s);
  }
  cpu::ForRows(context, x.rows, count * x.cols, [&](int64_t r) {
    rows[static_cast<size_t>(sequence_of[static_cast<size_t>(r)])].Convolve(taps, r, out.row(r));
  });
  host::StoreConvStates(x, count, states, layer, batch, rows);
  return out;
}

host::Buffer Cpu::Multiply(Context& context, View a, View b) {
  return cpu::MapRows(context, a, [&](int64_t r, float* out) {
    for (int64_t c = 0; c < a.cols; ++c) out[c] = a.row(r)[c] * b.row(r)[c];
  });
}

}  // namespace inferflux::compute
