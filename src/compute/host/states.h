// Recurrent states in host memory, shared by the backends that compute there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "compute/host/host_buffer.h"
#include "compute/params.h"
#include "compute/recurrent_state.h"

namespace inferflux::compute::host {

struct States {
  struct Layer {
    int64_t size = 0;
    std::vector<float> values;  // [slots, size]
  };
  std::vector<Layer> layers;

  std::span<float> Part(int32_t layer, int32_t slot) {
    Layer& of = layers[static_cast<size_t>(layer)];
    return std::span(of.values).subspan(static_cast<size_t>(slot * of.size), static_cast<size_t>(of.size));
  }
};

Result<States> CreateStates(const StateShape& shape);
void VisitState(States& states, int32_t slot, FunctionRef<void(std::span<std::byte>)> visit);

// The rows of a sequence as a short convolution reads them: those of the step, and before them those of its state.
class ConvRows {
 public:
  ConvRows(View x, int64_t taps, States& states, int32_t layer, const StepGeometry& batch, int32_t sequence);

  // `row` may be up to taps - 1 before the sequence's first one.
  const float* operator[](int64_t row) const {
    return row >= first_ ? x_.row(row) : state_.data() + (taps_ - 1 + row - first_) * x_.cols;
  }

  // y[row], as RecurrentStates says; a fixed order of sums.
  void Convolve(View weights, int64_t row, float* y) const;

 private:
  View x_;
  int64_t taps_;
  int64_t first_;
  std::vector<float> state_;  // [taps - 1, cols]: a copy, so that the slot may be stored to
};

// Stores the states of all sequences after their last rows, and where the batch marks a row.
void StoreConvStates(View x, int64_t taps, States& states, int32_t layer, const StepGeometry& batch,
                     std::span<const ConvRows> rows);

}  // namespace inferflux::compute::host
