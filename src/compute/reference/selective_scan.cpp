#include "compute/host/selective_scan.h"

#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

host::Buffer Reference::SelectiveScan(Context& context, View xbc, View dt, View steps, View coefficients, View skips,
                                      States& states, int32_t layer, const Batch& batch,
                                      const StateSpaceParams& params) {
  Buffer out = context.arena.Allocate(xbc.rows, params.inner());
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    for (int32_t head = 0; head < params.heads; ++head) {
      host::SelectiveScanHead({xbc, dt, steps, coefficients, skips}, states, layer, batch, s, head, params,
                              host::ScanTokenInOrder, out);
    }
  }
  return out;
}

}  // namespace inferflux::compute
