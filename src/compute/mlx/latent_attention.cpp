#include <mlx/fast.h>
#include <mlx/ops.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/mlx/stored.h"
#include "compute/mlx/weights.h"

namespace inferflux::compute {
namespace {

// A sequence's rows of x, head by head: [heads, rows, width].
mx::array ByHead(const Mlx::View& x, const Mlx::Sequence& sequence, int32_t heads) {
  const int first = sequence.first_row, rows = sequence.rows, width = Int(x.cols()) / heads;
  const mx::array own = mx::slice(x.values, {first, 0}, {first + rows, Int(x.cols())});
  return mx::transpose(mx::reshape(own, {rows, heads, width}), {1, 0, 2});
}

// Whether a position is a row's own or before it: [rows, length].
mx::array Earlier(const Mlx::Sequence& sequence) {
  const int first = sequence.first_position, length = sequence.length();
  return mx::less_equal(mx::expand_dims(mx::arange(0, length, 1, mx::int32), 0),
                        mx::expand_dims(mx::arange(first, length, 1, mx::int32), 1));
}

// The positions that each row reads: [rows, length]. A row that sees fewer than it may select has later ones too.
mx::array Selected(const mx::array& positions, const Mlx::Sequence& sequence) {
  const mx::array none = mx::zeros({sequence.rows, sequence.length()}, mx::bool_);
  return mx::logical_and(mx::put_along_axis(none, positions, mx::array(true), 1), Earlier(sequence));
}

}  // namespace

Mlx::Buffer Mlx::HeadMatMul(Context& context, View x, const Experts& heads) {
  const int rows = Int(x.rows()), count = Int(heads.experts), outputs = Int(heads.stacked.rows);
  if (rows == 0) return {mx::zeros({0, count * outputs}, mx::float32)};
  const mx::array by_head = mx::transpose(mx::reshape(x.values, {rows, count, -1}), {1, 0, 2});
  std::vector<mx::array> products;
  for (const Weights& part : heads.stacked.parts) products.push_back(Product(by_head, part, context.narrow_products));
  const mx::array whole = products.size() == 1 ? products.front() : mx::concatenate(std::move(products), -1);
  return {mx::reshape(mx::transpose(whole, {1, 0, 2}), {rows, count * outputs})};
}

void Mlx::AppendLatentsTo(KvLayer& layer, View latents, View rotated, const Batch& batch) {
  layer.keys = Scattered(layer.keys, mx::concatenate({latents.values, rotated.values}, 1), batch.new_slots);
}

void Mlx::AppendIndexTo(KvLayer& layer, View k, const Batch& batch) {
  layer.values = Scattered(layer.values, k.values, batch.new_slots);
}

// Sequence by sequence, as Attend: one KV head, whose keys begin with their values.
Mlx::Buffer Mlx::AttendLatentsOf(View q, View rotated, const KvLayer& layer, const Batch& batch,
                                 const AttentionParams& params, const Selection* selected) {
  const int latent = Int(q.cols()) / params.heads;
  std::vector<mx::array> outputs;
  for (size_t s = 0; s < batch.sequences.size(); ++s) {
    const Sequence& sequence = batch.sequences[s];
    const int rows = sequence.rows;
    const mx::array queries = mx::expand_dims(
        mx::concatenate({ByHead(q, sequence, params.heads), ByHead(rotated, sequence, params.heads)}, -1), 0);
    const std::optional<mx::array> chosen = selected == nullptr ? std::nullopt : selected->sequences[s];
    mx::array keys = Stored(layer.keys, sequence, 0);
    // All that a single row has selected is before it: nothing else is read.
    if (chosen && rows == 1) keys = mx::take(keys, mx::reshape(*chosen, {-1}), 2);
    const mx::array values = mx::slice(keys, {0, 0, 0, 0}, {1, 1, keys.shape(2), latent});
    const auto mask = chosen && rows > 1 ? std::optional(Selected(*chosen, sequence)) : std::nullopt;
    const char* mode = mask ? "array" : rows > 1 ? "causal" : "";
    const mx::array attended =
        mx::fast::scaled_dot_product_attention(queries, keys, values, params.scale, mode, mask, std::nullopt);
    outputs.push_back(mx::reshape(mx::transpose(mx::reshape(attended, {params.heads, rows, latent}), {1, 0, 2}),
                                  {rows, params.heads * latent}));
  }
  return {outputs.size() == 1 ? outputs.front() : mx::concatenate(std::move(outputs), 0)};
}

// A stable sort of the negated scores: the lower position comes first on ties. Later positions and scores that are no
// numbers are the last.
Mlx::Selection Mlx::SelectOf(View q, View weights, const KvLayer& layer, const Batch& batch,
                             const IndexParams& params) {
  Selection out;
  for (const Sequence& sequence : batch.sequences) {
    if (sequence.length() <= params.top) {
      out.sequences.emplace_back();
      continue;
    }
    const mx::array keys = mx::squeeze(mx::astype(Stored(layer.values, sequence, 0), mx::float32), 0);
    const mx::array products = mx::matmul(ByHead(q, sequence, params.heads), mx::swapaxes(keys, -1, -2));
    const mx::array scores =
        mx::sum(ByHead(weights, sequence, params.heads) * mx::maximum(products, mx::array(0.0f)), 0);
    const mx::array counts = mx::logical_and(Earlier(sequence), mx::equal(scores, scores));
    const mx::array last(std::numeric_limits<float>::infinity());
    const mx::array order = mx::argsort(mx::where(counts, mx::negative(scores), last), -1);
    out.sequences.emplace_back(mx::astype(mx::slice(order, {0, 0}, {sequence.rows, params.top}), mx::int32));
  }
  return out;
}

}  // namespace inferflux::compute
