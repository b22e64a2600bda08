#include "compute/host/gated_delta.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compute/host/softplus.h"

namespace inferflux::compute::host {
namespace {

constexpr float kLeastSquares = 1e-6f;  // added to the squares of a vector that is scaled to a length

void ScaleToLength(const float* x, float length, std::vector<float>& out) {
  float squares = 0.0f;
  for (size_t i = 0; i < out.size(); ++i) squares += x[i] * x[i];
  const float factor = length / std::sqrt(squares + kLeastSquares);
  for (size_t i = 0; i < out.size(); ++i) out[i] = x[i] * factor;
}

float UpdateRate(float b) { return 1.0f / (1.0f + std::exp(-b)); }

// state: [key_dim, value_dim]; delta: room for value_dim values; y: value_dim.
void Advance(float decay, float rate, const std::vector<float>& q, const std::vector<float>& k, const float* v,
             std::vector<float>& state, std::vector<float>& delta, float* y) {
  const size_t width = delta.size();
  std::ranges::fill(delta, 0.0f);
  for (size_t i = 0; i < k.size(); ++i) {
    float* row = state.data() + i * width;
    for (size_t c = 0; c < width; ++c) {
      row[c] *= decay;
      delta[c] += k[i] * row[c];
    }
  }
  for (size_t c = 0; c < width; ++c) delta[c] = (v[c] - delta[c]) * rate;
  std::fill_n(y, width, 0.0f);
  for (size_t i = 0; i < k.size(); ++i) {
    float* row = state.data() + i * width;
    for (size_t c = 0; c < width; ++c) {
      row[c] += k[i] * delta[c];
      y[c] += q[i] * row[c];
    }
  }
}

}  // namespace

void GatedDeltaHead(const DeltaInputs& in, States& states, int32_t layer, const StepGeometry& batch, int32_t sequence,
                    int32_t head, const DeltaNetParams& params, Buffer& out) {
  const auto size = static_cast<size_t>(params.key_dim) * static_cast<size_t>(params.value_dim);
  const auto part = [&](int32_t slot) {
    return states.Part(layer, slot).subspan(static_cast<size_t>(head) * size, size);
  };
  const auto index = static_cast<size_t>(sequence);
  const StateSlots& where = batch.states[index];
  std::vector<float> state(size), q(static_cast<size_t>(params.key_dim)), k(q.size());
  std::vector<float> delta(static_cast<size_t>(params.value_dim));
  if (where.from != StateSlots::kNoState) std::ranges::copy(part(where.from), state.begin());
  const int64_t key = int64_t{params.KeyHead(head)} * params.key_dim;
  const int64_t value = int64_t{head} * params.value_dim;
  const float scale = 1.0f / std::sqrt(static_cast<float>(params.key_dim));
  auto mark = std::ranges::lower_bound(batch.state_marks, batch.query_starts[index], {}, &StateMark::row);
  for (int32_t row = batch.query_starts[index]; row < batch.query_starts[index + 1]; ++row) {
    const float* x = in.qkv.row(row);
    ScaleToLength(x + key, scale, q);
    ScaleToLength(x + params.keys() + key, 1.0f, k);
    const float decay = std::exp(in.coefficients.data[head] * Softplus(in.a.row(row)[head] + in.steps.data[head]));
    Advance(decay, UpdateRate(in.b.row(row)[head]), q, k, x + 2 * params.keys() + value, state, delta,
            out.row(row) + value);
    if (mark != batch.state_marks.end() && mark->row == row) {
      std::ranges::copy(state, part(mark->slot).begin());
      ++mark;
    }
  }
  std::ranges::copy(state, part(where.to).begin());
}

}  // namespace inferflux::compute::host
