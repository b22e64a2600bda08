#include <bit>
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

  std::span<const int32_t> numbers() const { return numbers_; }

  // For a copy of the numbers that begins at `memory`.
  void SetPlaces(const void* memory) const {
    for (const auto& [place, at] : places_) *place = static_cast<const int32_t*>(memory) + at;
  }

 private:
  std::vector<int32_t> numbers_;
  std::vector<std::pair<const int32_t**, size_t>> places_;
};

// The step's arrays, with their places in `batch`.
Packed Pack(const StepGeometry& geometry, Cuda::Batch& batch) {
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
  packed.Add(geometry.tokens, &batch.tokens);
  packed.Add(geometry.positions, &batch.arrays.positions);
  packed.Add(geometry.query_starts, &batch.arrays.query_starts);
  packed.Add(geometry.table_starts, &batch.arrays.table_starts);
  packed.Add(geometry.block_tables, &batch.arrays.block_tables);
  packed.Add(sequences, &batch.arrays.sequences);
  packed.Add(slots, &batch.slots);
  packed.Add(state_from, &batch.states.from);
  packed.Add(state_to, &batch.states.to);
  packed.Add(state_marks, &batch.states.marks);
  return packed;
}

}  // namespace

Cuda::Batch Cuda::LoadBatch(Context& context, const StepGeometry& geometry) {
  if (context.recording != nullptr) {  // its arrays would be the same at each replay
    throw ThrownError({ErrorCode::kUnsupported, "a step that is captured loads a batch"});
  }
  Batch out{.geometry = geometry};
  const Packed packed = Pack(geometry, out);
  out.memory = cuda_ops::Upload(context, packed.numbers());
  out.numbers = packed.numbers().size();
  packed.SetPlaces(out.memory.get());
  out.arrays.block_size = geometry.block_size;
  if (std::has_single_bit(static_cast<uint32_t>(geometry.block_size))) {
    out.arrays.block_shift = std::countr_zero(static_cast<uint32_t>(geometry.block_size));
  }
  out.states.query_starts = out.arrays.query_starts;
  out.states.sequences = out.arrays.sequences;
  out.states.sequence_count = geometry.sequences();
  return out;
}

void Cuda::Reload(Context& context, Batch& batch, const StepGeometry& geometry) {
  const StepGeometry& held = batch.geometry;
  const Packed packed = Pack(geometry, batch);
  if (packed.numbers().size() != batch.numbers || geometry.rows() != held.rows() ||
      geometry.sequences() != held.sequences() || geometry.block_tables.size() != held.block_tables.size() ||
      geometry.states.size() != held.states.size() || geometry.block_size != held.block_size) {
    throw ThrownError({ErrorCode::kInternal, "a step of another shape in the place of a loaded one"});
  }
  cuda_ops::Must(context.staging->Copy(batch.memory.get(), std::as_bytes(packed.numbers())));
  batch.geometry = geometry;
}

}  // namespace inferflux::compute
