#include "compute/host/selective_scan.h"

#include "compute/cpu/ops/row_ops.h"

namespace inferflux::compute {

// A head of a sequence is one task: its tokens follow one another, and heads do not meet.
host::Buffer Cpu::SelectiveScan(Context& context, View xbc, View dt, View steps, View coefficients, View skips,
                                States& states, int32_t layer, const Batch& batch, const StateSpaceParams& params) {
  Buffer out = context.arena.Allocate(xbc.rows, params.inner());
  const int64_t tasks = int64_t{batch.sequences()} * params.heads;
  const int64_t tokens = xbc.rows / std::max(1, batch.sequences());
  const int64_t cost = int64_t{params.head_dim} * params.state * std::max<int64_t>(1, tokens);
  cpu::ForRows(context, tasks, cost, [&](int64_t task) {
    const auto sequence = static_cast<int32_t>(task / params.heads);
    const auto head = static_cast<int32_t>(task % params.heads);
    host::SelectiveScanHead({xbc, dt, steps, coefficients, skips}, states, layer, batch, sequence, head, params,
                            context.kernels.scan_token, out);
  });
  return out;
}

}  // namespace inferflux::compute
