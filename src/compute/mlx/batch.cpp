#include <mlx/transforms.h>

#include "compute/host/block_lookup.h"
#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

// If nothing was read from a step, its work is still pending. Start it now: otherwise every later step would keep the
// graphs of all steps before it.
Mlx::Batch Mlx::LoadBatch(Context& context, const StepGeometry& step) {
  mx::async_eval(context.KvArrays());
  std::vector<int32_t> new_slots;
  std::vector<Sequence> sequences;
  for (int32_t s = 0; s < step.sequences(); ++s) {
    const int32_t first_row = step.query_starts[s];
    Sequence sequence{.first_row = first_row,
                      .rows = step.query_starts[s + 1] - first_row,
                      .first_position = step.positions[first_row]};
    std::vector<int32_t> slots(static_cast<size_t>(sequence.length()));
    bool gap = false;
    for (int32_t p = 0; p < sequence.length(); ++p) {
      slots[p] = static_cast<int32_t>(host::SlotOf(step, s, p));
      gap = gap || slots[p] != slots[0] + p;
    }
    new_slots.insert(new_slots.end(), slots.begin() + sequence.first_position, slots.end());
    sequence.first_slot = slots[0];
    if (gap) sequence.slots = IndexArray(slots);
    sequences.push_back(std::move(sequence));
  }
  return {step, IndexArray(step.tokens), IndexArray(new_slots), std::move(sequences)};
}

}  // namespace inferflux::compute
