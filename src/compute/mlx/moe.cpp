#include <mlx/ops.h>

#include <algorithm>
#include <limits>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/mlx/weights.h"

namespace inferflux::compute {
namespace {

// The row of x that each line reads: its own, or that of the token that chose the expert.
mx::array Sources(const Mlx::View& x, const Mlx::Routing& routing) {
  const int lines = routing.rows * routing.used;
  const mx::array own = mx::arange(0, lines, 1, mx::int32);
  return x.rows() == lines ? own : mx::floor_divide(own, mx::array(routing.used));
}

mx::array Lines(const mx::array& choices) { return mx::reshape(choices, {-1}); }

// From [1, experts * cols], the part of each line's expert: [lines, cols].
mx::array OfLines(const Mlx::View& of_experts, int64_t cols, const Mlx::Routing& routing) {
  return mx::take(mx::reshape(of_experts.values, {-1, Int(cols)}), Lines(routing.experts), 0);
}

// The scores with minus infinity for the experts whose group is not chosen from.
mx::array WithoutOtherGroups(const mx::array& choice, const RoutingParams& params) {
  const int rows = choice.shape(0), experts = choice.shape(1), size = experts / params.groups;
  const mx::array apart = mx::reshape(choice, {rows, params.groups, size});
  const mx::array sorted = mx::sort(mx::negative(apart), -1);
  const mx::array best = mx::slice(sorted, {0, 0, 0}, {rows, params.groups, std::min(params.group_scores, size)});
  const mx::array order = mx::argsort(mx::sum(best, -1), -1);  // of sums that are negated too
  const mx::array rank = mx::argsort(order, -1);
  const mx::array chosen = mx::less(rank, mx::array(params.used_groups));
  const mx::array lowest(-std::numeric_limits<float>::infinity());
  return mx::reshape(mx::where(mx::expand_dims(chosen, -1), apart, lowest), {rows, experts});
}

// Choice by choice, the softmax over the experts that are left and close to the best of them.
Mlx::Routing MixSparsely(const mx::array& logits, const RoutingParams& params) {
  const mx::array lowest(-std::numeric_limits<float>::infinity());
  const mx::array numbers = mx::arange(0, logits.shape(1), 1, mx::int32);
  mx::array left = logits;
  std::vector<mx::array> experts, weights;
  for (int32_t i = 0; i < params.used; ++i) {
    const mx::array best = mx::astype(mx::argmax(left, -1, /*keepdims=*/true), mx::int32);
    const mx::array largest = mx::max(left, -1, /*keepdims=*/true);
    const mx::array reach = mx::array(params.tolerance) * mx::maximum(mx::abs(logits), largest);
    const mx::array close = mx::where(mx::less_equal(largest - logits, reach), left, lowest);
    weights.push_back(mx::array(params.scale) / mx::sum(mx::exp(close - largest), -1, /*keepdims=*/true));
    experts.push_back(best);
    left = mx::where(mx::equal(numbers, best), lowest, left);
  }
  return {logits.shape(0), params.used, mx::concatenate(std::move(experts), -1),
          mx::concatenate(std::move(weights), -1)};
}

}  // namespace

// A stable sort of the negated scores: the lower index comes first on ties.
Mlx::Routing Mlx::Route(Context&, View logits, const RoutingParams& params, const View* biases) {
  const int rows = Int(logits.rows());
  if (params.score == ExpertScore::kSparseMixer) return MixSparsely(logits.values, params);
  const bool sigmoid = params.score == ExpertScore::kSigmoid;
  const mx::array scores = sigmoid ? mx::sigmoid(logits.values) : mx::softmax(logits.values, -1, /*precise=*/true);
  // Softmax does not change the order, and logits have no ties that it makes.
  mx::array choice = sigmoid || biases != nullptr ? scores : logits.values;
  if (biases != nullptr) choice = choice + biases->values;
  if (params.groups > 1) choice = WithoutOtherGroups(choice, params);
  const mx::array order = mx::argsort(mx::negative(choice), -1);
  const mx::array experts = mx::astype(mx::slice(order, {0, 0}, {rows, params.used}), mx::int32);
  mx::array weights = mx::take_along_axis(scores, experts, -1);
  if (params.normalise) {
    weights = weights / mx::maximum(mx::sum(weights, -1, /*keepdims=*/true), mx::array(kLeastScoreSum));
  }
  if (params.scale != 1.0f) weights = weights * mx::array(params.scale);
  return {rows, params.used, experts, weights};
}

Mlx::Buffer Mlx::ExpertMatMul(Context& context, View x, const Experts& experts, const Routing& routing) {
  const mx::array lines = mx::reshape(x.values, {Int(x.rows()), 1, Int(x.cols())});
  const mx::array sources = Sources(x, routing);
  const mx::array chosen = Lines(routing.experts);
  std::vector<mx::array> products;
  for (const Weights& part : experts.stacked.parts) {
    const mx::Dtype type = MatmulType(part, context.narrow_products);
    if (part.scales) {
      const mx::array product =
          mx::gather_qmm(mx::astype(lines, type), part.values, *part.scales, part.biases, sources, chosen,
                         /*transpose=*/true, part.group, part.bits, part.mode);
      products.push_back(mx::astype(product, mx::float32));
      continue;
    }
    const mx::array transposed = mx::swapaxes(mx::astype(part.values, type), -1, -2);
    products.push_back(mx::astype(mx::gather_mm(mx::astype(lines, type), transposed, sources, chosen), mx::float32));
  }
  const mx::array whole = products.size() == 1 ? products.front() : mx::concatenate(std::move(products), -1);
  return {mx::reshape(whole, {routing.rows * routing.used, Int(experts.stacked.rows)})};
}

Mlx::Buffer Mlx::AddExpertBias(Context&, View x, View biases, const Routing& routing) {
  return {x.values + OfLines(biases, x.cols(), routing)};
}

Mlx::Buffer Mlx::ScaleExpertColumns(Context&, View x, View scales, const Routing& routing) {
  return {x.values * OfLines(scales, x.cols(), routing)};
}

Mlx::Buffer Mlx::Combine(Context&, View x, const Routing& routing) {
  const mx::array lines = mx::reshape(x.values, {routing.rows, routing.used, Int(x.cols())});
  return {mx::sum(lines * mx::expand_dims(routing.weights, -1), 1)};
}

Mlx::Buffer Mlx::GateRows(Context&, View x, View logits) { return {x.values * mx::sigmoid(logits.values)}; }

}  // namespace inferflux::compute
