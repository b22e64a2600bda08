#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <utility>
#include <vector>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

// Token by token, all heads at once. A long prompt's graph is evaluated in pieces.
Mlx::Buffer Mlx::SelectiveScan(Context&, View xbc, View dt, View steps, View coefficients, View skips, States& states,
                               int32_t layer, const Batch& batch, const StateSpaceParams& params) {
  constexpr int kPiece = 64;
  const StepGeometry& geometry = batch.geometry;
  const int rows = Int(xbc.rows()), heads = params.heads, width = params.head_dim, inner = Int(params.inner());
  const int repeat = heads / params.groups, grouped = params.groups * params.state;
  const auto of_heads = [&](int first) {  // [rows, heads, state, 1]
    mx::array groups =
        mx::reshape(mx::slice(xbc.values, {0, first}, {rows, first + grouped}), {rows, params.groups, params.state, 1});
    return repeat == 1 ? groups : mx::repeat(groups, repeat, 1);
  };
  const mx::array x = mx::reshape(mx::slice(xbc.values, {0, 0}, {rows, inner}), {rows, heads, 1, width});
  const mx::array b = of_heads(inner), c = of_heads(inner + grouped);
  const mx::array step = mx::logaddexp(dt.values + steps.values, mx::array(0.0f));  // softplus
  const mx::array decay = mx::reshape(mx::exp(coefficients.values * step), {rows, heads, 1, 1});
  const mx::array scaled = x * mx::reshape(step, {rows, heads, 1, 1});
  const mx::Shape shape{heads, params.state, width};
  auto& slots = states.layers[static_cast<size_t>(layer)];
  std::vector<mx::array> results, stored;
  size_t mark = 0;
  for (size_t s = 0; s + 1 < geometry.query_starts.size(); ++s) {
    const StateSlots& where = geometry.states[s];
    mx::array state = where.from == StateSlots::kNoState ? mx::zeros(shape, mx::float32)
                                                         : mx::reshape(slots[static_cast<size_t>(where.from)], shape);
    const auto store = [&](int32_t slot) {
      mx::array part = mx::reshape(state, {1, heads * params.state * width});
      slots[static_cast<size_t>(slot)] = part;
      stored.push_back(std::move(part));
    };
    for (int row = geometry.query_starts[s]; row < geometry.query_starts[s + 1]; ++row) {
      const auto of_row = [&](const mx::array& all) {
        const int n = all.shape(2), m = all.shape(3);
        return mx::reshape(mx::slice(all, {row, 0, 0, 0}, {row + 1, heads, n, m}), {heads, n, m});
      };
      state = state * of_row(decay) + of_row(b) * of_row(scaled);
      results.push_back(mx::reshape(mx::sum(state * of_row(c), 1), {1, inner}));
      if ((row + 1) % kPiece == 0) mx::async_eval({state, results.back()});
      if (mark < geometry.state_marks.size() && geometry.state_marks[mark].row == row) {
        store(geometry.state_marks[mark++].slot);
      }
    }
    store(where.to);
  }
  mx::async_eval(stored);
  const mx::array y = results.size() == 1 ? results.front() : mx::concatenate(std::move(results), 0);
  const mx::array skipped = x * mx::reshape(skips.values, {1, heads, 1, 1});
  return {y + mx::reshape(skipped, {rows, inner})};
}

}  // namespace inferflux::compute
