#include "compute/cuda/backend/operation.h"
#include "compute/host/block_lookup.h"

namespace inferflux::compute {
namespace {

// Arrays of numbers one after the other, each at a multiple of 16 bytes.
class Packed {
 public:
  void Add(std::span<const int32_t> values, const int32_t** place) {
    numbers_.resize((numbers_.size() + 3) / 4 * 4);
    places_.emplace_back(place, numbers_.size());
    numbers_.insert(numbers_.end(), values.begin(), values.end());
  }

  cuda::ArenaPiece Upload(Cuda::Context& context) const {
    auto memory = cuda_ops::Upload<int32_t>(context, numbers_);
    for (const auto& [place, at] : places_) *place = static_cast<const int32_t*>(memory.get()) + at;
    return memory;
  }

 private:
  std::vector<int32_t> numbers_;
  std::vector<std::pair<const int32_t**, size_t>> places_;
};

}  // namespace

Cuda::Batch Cuda::LoadBatch(Context& context, const StepGeometry& geometry) {
  Batch out{.geometry = geometry};
  std::vector<int32_t> sequences, slots;
  for (int32_t s = 0; s < geometry.sequences(); ++s) {
    for (int32_t r = geometry.query_starts[s]; r < geometry.query_starts[s + 1]; ++r) {
      sequences.push_back(s);
      if (geometry.block_size > 0) {
        slots.push_back(static_cast<int32_t>(host::SlotOf(geometry, s, geometry.positions[r])));
      }
    }
  }
  std::vector<int32_t> state_from, state_to, state_marks;
  if (!geometry.states.empty()) {
    for (const StateSlots& slot : geometry.states) {
      state_from.push_back(slot.from);
      state_to.push_back(slot.to);
    }
    state_marks.assign(sequences.size(), StateSlots::kNoState);
    for (const StateMark& mark : geometry.state_marks) state_marks[static_cast<size_t>(mark.row)] = mark.slot;
  }
  Packed packed;
  packed.Add(geometry.tokens, &out.tokens);
  packed.Add(geometry.positions, &out.arrays.positions);
  packed.Add(geometry.query_starts, &out.arrays.query_starts);
  packed.Add(geometry.table_starts, &out.arrays.table_starts);
  packed.Add(geometry.block_tables, &out.arrays.block_tables);
  packed.Add(sequences, &out.arrays.sequences);
  packed.Add(slots, &out.slots);
  packed.Add(state_from, &out.states.from);
  packed.Add(state_to, &out.states.to);
  packed.Add(state_marks, &out.states.marks);
  out.arrays.block_size = geometry.block_size;
  out.memory = packed.Upload(context);
  out.states.query_starts = out.arrays.query_starts;
  out.states.sequences = out.arrays.sequences;
  out.states.sequence_count = geometry.sequences();
  return out;
}

}  // namespace inferflux::compute
