#include "compute/host/selective_scan.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compute/host/softplus.h"

namespace inferflux::compute::host {

void ScanTokenInOrder(float* state, float decay, const float* b, const float* c, const float* x, float* y, int64_t n,
                      int64_t width) {
  std::fill_n(y, width, 0.0f);
  for (int64_t i = 0; i < n; ++i) {
    float* row = state + i * width;
    for (int64_t p = 0; p < width; ++p) {
      row[p] = decay * row[p] + b[i] * x[p];
      y[p] += c[i] * row[p];
    }
  }
}

void SelectiveScanHead(const ScanInputs& in, States& states, int32_t layer, const StepGeometry& batch, int32_t sequence,
                       int32_t head, const StateSpaceParams& params, ScanToken scan, Buffer& out) {
  const int64_t width = params.head_dim, n = params.state;
  const auto size = static_cast<size_t>(width * n);
  const auto part = [&](int32_t slot) {
    return states.Part(layer, slot).subspan(static_cast<size_t>(head) * size, size);
  };
  const auto index = static_cast<size_t>(sequence);
  const StateSlots& where = batch.states[index];
  std::vector<float> state(size), scaled(static_cast<size_t>(width));
  if (where.from != StateSlots::kNoState) std::ranges::copy(part(where.from), state.begin());
  const int64_t from = head * width;
  const int64_t b = params.inner() + head / (params.heads / params.groups) * n, c = b + params.groups * n;
  auto mark = std::ranges::lower_bound(batch.state_marks, batch.query_starts[index], {}, &StateMark::row);
  for (int32_t row = batch.query_starts[index]; row < batch.query_starts[index + 1]; ++row) {
    const float* values = in.xbc.row(row);
    const float* x = values + from;
    float* y = out.row(row) + from;
    const float step = Softplus(in.dt.row(row)[head] + in.steps.data[head]);
    for (int64_t p = 0; p < width; ++p) scaled[static_cast<size_t>(p)] = step * x[p];
    scan(state.data(), std::exp(in.coefficients.data[head] * step), values + b, values + c, scaled.data(), y, n, width);
    for (int64_t p = 0; p < width; ++p) y[p] += in.skips.data[head] * x[p];
    if (mark != batch.state_marks.end() && mark->row == row) {
      std::ranges::copy(state, part(mark->slot).begin());
      ++mark;
    }
  }
  std::ranges::copy(state, part(where.to).begin());
}

}  // namespace inferflux::compute::host
