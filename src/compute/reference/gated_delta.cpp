#include "compute/host/gated_delta.h"

#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

host::Buffer Reference::GatedDelta(Context& context, View qkv, View b, View a, View steps, View coefficients,
                                   States& states, int32_t layer, const Batch& batch, const DeltaNetParams& params) {
  Buffer out = context.arena.Allocate(qkv.rows, params.values());
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    for (int32_t head = 0; head < params.value_heads; ++head) {
      host::GatedDeltaHead({qkv, b, a, steps, coefficients}, states, layer, batch, s, head, params, out);
    }
  }
  return out;
}

}  // namespace inferflux::compute
