#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <cmath>
#include <utility>
#include <vector>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {
namespace {

// Each head's vector scaled to length 1: [rows, heads, dim].
mx::array OfLengthOne(const mx::array& x) {
  return x * mx::rsqrt(mx::sum(mx::square(x), -1, /*keepdims=*/true) + mx::array(1e-6f));
}

}  // namespace

// Token by token, all heads at once. A long prompt's graph is evaluated in pieces.
Mlx::Buffer Mlx::GatedDelta(Context&, View qkv, View b, View a, View steps, View coefficients, States& states,
                            int32_t layer, const Batch& batch, const DeltaNetParams& params) {
  constexpr int kPiece = 64;
  const StepGeometry& geometry = batch.geometry;
  const int rows = Int(qkv.rows()), heads = params.value_heads, keys = Int(params.keys());
  const int repeat = heads / params.key_heads;
  const auto apart = [&](int first, int count, int dim) {
    return mx::reshape(mx::slice(qkv.values, {0, first}, {rows, first + count * dim}), {rows, count, dim});
  };
  const auto of_values = [&](const mx::array& x) {
    if (repeat == 1) return x;
    return params.keys_repeat ? mx::tile(x, {1, repeat, 1}) : mx::repeat(x, repeat, 1);
  };
  const float scale = 1.0f / std::sqrt(static_cast<float>(params.key_dim));
  const mx::array q = of_values(OfLengthOne(apart(0, params.key_heads, params.key_dim)) * mx::array(scale));
  const mx::array k = of_values(OfLengthOne(apart(keys, params.key_heads, params.key_dim)));
  const mx::array v = apart(2 * keys, heads, params.value_dim);
  const mx::array decay = mx::exp(coefficients.values * mx::logaddexp(a.values + steps.values, mx::array(0.0f)));
  const mx::array rate = mx::sigmoid(b.values);
  const mx::Shape shape{heads, params.key_dim, params.value_dim};
  auto& slots = states.layers[static_cast<size_t>(layer)];
  std::vector<mx::array> results, stored;
  size_t mark = 0;
  for (size_t s = 0; s + 1 < geometry.query_starts.size(); ++s) {
    const StateSlots& where = geometry.states[s];
    mx::array state = where.from == StateSlots::kNoState ? mx::zeros(shape, mx::float32)
                                                         : mx::reshape(slots[static_cast<size_t>(where.from)], shape);
    const auto store = [&](int32_t slot) {
      mx::array part = mx::reshape(state, {1, heads * params.key_dim * params.value_dim});
      slots[static_cast<size_t>(slot)] = part;
      stored.push_back(std::move(part));
    };
    for (int row = geometry.query_starts[s]; row < geometry.query_starts[s + 1]; ++row) {
      const auto of_row = [&](const mx::array& x, int dim, const mx::Shape& to) {
        return mx::reshape(mx::slice(x, {row, 0, 0}, {row + 1, heads, dim}), to);
      };
      const auto number = [&](const mx::array& x) {
        return mx::reshape(mx::slice(x, {row, 0}, {row + 1, heads}), {heads, 1, 1});
      };
      const mx::array key = of_row(k, params.key_dim, {heads, params.key_dim, 1});
      state = state * number(decay);
      const mx::array known = mx::sum(state * key, 1, /*keepdims=*/true);
      const mx::array delta = (of_row(v, params.value_dim, {heads, 1, params.value_dim}) - known) * number(rate);
      state = state + key * delta;
      const mx::array query = of_row(q, params.key_dim, {heads, params.key_dim, 1});
      results.push_back(mx::reshape(mx::sum(state * query, 1), {1, heads * params.value_dim}));
      if ((row + 1) % kPiece == 0) mx::async_eval({state, results.back()});
      if (mark < geometry.state_marks.size() && geometry.state_marks[mark].row == row) {
        store(geometry.state_marks[mark++].slot);
      }
    }
    store(where.to);
  }
  mx::async_eval(stored);
  return {results.size() == 1 ? results.front() : mx::concatenate(std::move(results), 0)};
}

}  // namespace inferflux::compute
