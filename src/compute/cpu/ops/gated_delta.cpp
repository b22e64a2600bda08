#include "compute/host/gated_delta.h"

#include "compute/cpu/ops/row_ops.h"

namespace inferflux::compute {

// A head of a sequence is one task: its tokens follow one another, and heads do not meet.
host::Buffer Cpu::GatedDelta(Context& context, View qkv, View b, View a, View steps, View coefficients, States& states,
                             int32_t layer, const Batch& batch, const DeltaNetParams& params) {
  Buffer out = context.arena.Allocate(qkv.rows, params.values());
  const int64_t tasks = int64_t{batch.sequences()} * params.value_heads;
  const int64_t cost = int64_t{params.key_dim} * params.value_dim * 4;
  cpu::ForRows(context, tasks, cost, [&](int64_t task) {
    const auto sequence = static_cast<int32_t>(task / params.value_heads);
    const auto head = static_cast<int32_t>(task % params.value_heads);
    host::GatedDeltaHead({qkv, b, a, steps, coefficients}, states, layer, batch, sequence, head, params, out);
  });
  return out;
}

}  // namespace inferflux::compute
