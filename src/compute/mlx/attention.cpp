#include <mlx/fast.h>
#include <mlx/ops.h>

#include <algorithm>
#include <limits>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/mlx/stored.h"

namespace inferflux::compute {
namespace {

// Which positions [first, first + keys) the rows from row_position on see: [rows, keys]. Empty if all see all.
// `window`: 0 if it cuts nothing.
std::optional<mx::array> Mask(int32_t row_position, int32_t rows, int32_t first, int32_t keys, int32_t window,
                              const AttentionParams& params) {
  if (rows == 1) return std::nullopt;  // its keys are already cut to the window
  const mx::array of_row = mx::expand_dims(mx::arange(row_position, row_position + rows, 1, mx::int32), 1);
  const mx::array of_key = mx::expand_dims(mx::arange(first, first + keys, 1, mx::int32), 0);
  if (!params.causal) {
    if (window == 0) return std::nullopt;
    return mx::less(mx::abs(of_key - of_row), mx::array(window));
  }
  const mx::array before = mx::less_equal(of_key, of_row);
  if (window == 0) return before;
  if (params.chunked) {
    const mx::array chunk(window);
    return mx::logical_and(before, mx::equal(mx::floor_divide(of_key, chunk), mx::floor_divide(of_row, chunk)));
  }
  return mx::logical_and(before, mx::greater(of_key, of_row - mx::array(window)));
}

// Scores with a soft cap, which fast:: does not support. q: [1, heads, rows, head_dim].
mx::array Capped(const mx::array& q, const mx::array& k, const mx::array& v, const AttentionParams& params,
                 const std::optional<mx::array>& mask, const std::optional<mx::array>& sinks) {
  const int group = params.heads / params.kv_heads, rows = q.shape(2);
  const mx::array queries = mx::reshape(q, {params.kv_heads, group, rows, params.head_dim}) * mx::array(params.scale);
  const mx::array keys =
      mx::swapaxes(mx::reshape(mx::astype(k, mx::float32), {params.kv_heads, 1, -1, params.head_dim}), -1, -2);
  const mx::array values = mx::reshape(mx::astype(v, mx::float32), {params.kv_heads, 1, -1, params.head_dim});
  const mx::array cap(params.softcap);
  mx::array scores = cap * mx::tanh(mx::matmul(queries, keys) / cap);
  if (mask) scores = mx::where(*mask, scores, mx::array(-std::numeric_limits<float>::infinity()));
  const int keys_seen = scores.shape(-1);
  if (sinks) {
    const mx::array column = mx::reshape(*sinks, {params.kv_heads, group, 1, 1});
    scores = mx::concatenate({scores, mx::broadcast_to(column, {params.kv_heads, group, rows, 1})}, -1);
  }
  mx::array weights = mx::softmax(scores, -1, /*precise=*/true);
  if (sinks) weights = mx::slice(weights, {0, 0, 0, 0}, {params.kv_heads, group, rows, keys_seen});
  return mx::reshape(mx::matmul(weights, values), {1, params.heads, rows, params.head_dim});
}

}  // namespace

// Sequence by sequence: each has its own number of keys.
Mlx::Buffer Mlx::AttendTo(View q, const KvLayer& layer, const Batch& batch, const AttentionParams& params,
                          std::optional<mx::array> sinks) {
  if (sinks) sinks = mx::reshape(*sinks, {params.heads});
  std::vector<mx::array> outputs;
  for (const Sequence& sequence : batch.sequences) {
    const int rows = sequence.rows;
    const int32_t first = params.First(sequence.first_position);
    const int32_t keys_seen = sequence.length() - first;
    const mx::array own = mx::slice(q.values, {sequence.first_row, 0}, {sequence.first_row + rows, Int(q.cols())});
    const mx::array queries =
        mx::expand_dims(mx::transpose(mx::reshape(own, {rows, params.heads, params.head_dim}), {1, 0, 2}), 0);
    const mx::array keys = Stored(layer.keys, sequence, first);
    const mx::array values = Stored(layer.values, sequence, first);
    const bool windowed = params.window > 0 && keys_seen > params.window;
    const int32_t window = windowed ? params.window : 0;
    const auto mask = [&] { return Mask(sequence.first_position, rows, first, keys_seen, window, params); };
    const auto attended = [&]() -> mx::array {
      if (params.softcap > 0.0f) {
        return Capped(queries, keys, values, params, mask(), sinks);
      }
      const auto cut = windowed ? mask() : std::nullopt;
      const char* mode = cut ? "array" : rows > 1 && params.causal ? "causal" : "";
      return mx::fast::scaled_dot_product_attention(queries, keys, values, params.scale, mode, cut, sinks);
    }();
    outputs.push_back(
        mx::reshape(mx::transpose(mx::reshape(attended, {params.heads, rows, params.head_dim}), {1, 0, 2}),
                    {rows, params.heads * params.head_dim}));
  }
  return {outputs.size() == 1 ? outputs.front() : mx::concatenate(std::move(outputs), 0)};
}

}  // namespace inferflux::compute
