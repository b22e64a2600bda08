#include "compute/host/states.h"

#include <algorithm>
#include <new>

namespace inferflux::compute::host {

Result<States> CreateStates(const StateShape& shape) {
  States out;
  const int64_t bytes = StateBytes(shape.layers);
  if (bytes < 0 || shape.slots < 1 || bytes > (int64_t{1} << 50) / shape.slots) {
    return Fail(ErrorCode::kInvalidArgument, "{} recurrent states of {} bytes each", shape.slots, bytes);
  }
  try {
    for (const int64_t size : shape.layers) {
      out.layers.push_back({size, std::vector<float>(static_cast<size_t>(size) * static_cast<size_t>(shape.slots))});
    }
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted, "no memory for {} recurrent states of {} bytes each", shape.slots,
                bytes);
  }
  return out;
}

void VisitState(States& states, int32_t slot, FunctionRef<void(std::span<std::byte>)> visit) {
  for (size_t i = 0; i < states.layers.size(); ++i) {
    if (states.layers[i].size > 0) visit(std::as_writable_bytes(states.Part(static_cast<int32_t>(i), slot)));
  }
}

ConvRows::ConvRows(View x, int64_t taps, States& states, int32_t layer, const StepGeometry& batch, int32_t sequence)
    : x_(x),
      taps_(taps),
      first_(batch.query_starts[static_cast<size_t>(sequence)]),
      state_(static_cast<size_t>((taps - 1) * x.cols)) {
  const int32_t from = batch.states[static_cast<size_t>(sequence)].from;
  if (from != StateSlots::kNoState) std::ranges::copy(states.Part(layer, from), state_.begin());
}

void ConvRows::Convolve(View weights, int64_t row, float* y) const {
  const int64_t cols = x_.cols;
  for (int64_t t = 0; t < taps_; ++t) {
    const float* from = (*this)[row - (taps_ - 1) + t];
    const float* weight = weights.data + t * cols;
    for (int64_t c = 0; c < cols; ++c) y[c] = t == 0 ? weight[c] * from[c] : y[c] + weight[c] * from[c];
  }
}

void StoreConvStates(View x, int64_t taps, States& states, int32_t layer, const StepGeometry& batch,
                     std::span<const ConvRows> rows) {
  const auto store = [&](size_t sequence, int64_t last, int32_t slot) {
    float* to = states.Part(layer, slot).data();
    for (int64_t row = last - (taps - 2); row <= last; ++row) to = std::copy_n(rows[sequence][row], x.cols, to);
  };
  for (size_t s = 0; s < rows.size(); ++s) store(s, batch.query_starts[s + 1] - 1, batch.states[s].to);
  size_t sequence = 0;
  for (const StateMark& mark : batch.state_marks) {
    while (batch.query_starts[sequence + 1] <= mark.row) ++sequence;
    store(sequence, mark.row, mark.slot);
  }
}

}  // namespace inferflux::compute::host
