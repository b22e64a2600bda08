// What some models need beyond compute::Backend, each a refining concept. A model that needs one that the backend lacks
// is refused when its weights are loaded, by the name of the concept.
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include "compute/backend.h"

namespace inferflux::compute {

// y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias, over whole rows (arXiv:1607.06450).
template <class B>
concept LayerNorms = Backend<B> && requires(typename B::Context& context, typename B::View view, float epsilon) {
  { B::LayerNorm(context, view, view, view, epsilon) } -> std::same_as<typename B::Buffer>;  // (x, weight, bias)
};

// An activation by itself, without a gate.
template <class B>
concept Activations = Backend<B> && requires(typename B::Context& context, typename B::View view, Activation kind) {
  { B::Activate(context, view, kind) } -> std::same_as<typename B::Buffer>;
};

// y = cap * tanh(x / cap): Gemma 2's bound on logits (arXiv:2408.00118).
template <class B>
concept SoftCaps = Backend<B> && requires(typename B::Context& context, typename B::View view, float cap) {
  { B::SoftCap(context, view, cap) } -> std::same_as<typename B::Buffer>;
};

// Attention whose softmax has one more logit a head, which takes weight and has no value (arXiv:2309.17453). sinks:
// [1, heads].
template <class B, class E>
concept AttentionSinks = PagedKv<B, E> &&
    requires(typename B::Context& context, const typename B::template KvCache<E>& filled, typename B::View view,
             const typename B::Batch& batch, const AttentionParams& attention, int32_t layer) {
  {
    B::template AttendWithSinks<E>(context, view, filled, layer, batch, attention, view)
    } -> std::same_as<typename B::Buffer>;
};

// Weights with a per-tensor scale beside the scales of their blocks, as NVFP4's have: it multiplies the matmul's
// result.
template <class B>
concept TensorScales = Backend<B> && requires(typename B::Context& context, typename B::View view) {
  { B::ScaleColumns(context, view, view) } -> std::same_as<typename B::Buffer>;  // [rows, n] * [1, n]
};

// A backend that takes weight layouts that GGUF does not have, in HostMatrix::form, as they are.
template <class B>
concept OwnWeightLayouts = Backend<B> && requires {
  { B::kWeightLayouts } -> std::convertible_to<formats::WeightLayouts>;
};

template <Backend B>
inline constexpr formats::WeightLayouts kWeightLayoutsOf = [] {
  if constexpr (OwnWeightLayouts<B>) return B::kWeightLayouts;
  return formats::WeightLayouts{};
}();

// Activations in another order, for weights with an act-order permutation.
template <class B>
concept ActOrder = Backend<B> &&
    requires(typename B::Context& context, typename B::View view, std::span<const int32_t> columns) {
  { B::GatherColumns(context, view, columns) } -> std::same_as<typename B::Buffer>;  // [rows, columns.size()]
};

// The layouts that a matmul takes. Experts and tables take kWeightLayoutsOf.
template <Backend B>
inline constexpr formats::WeightLayouts kMatmulLayoutsOf = [] {
  formats::WeightLayouts layouts = kWeightLayoutsOf<B>;
  layouts.ordered = ActOrder<B>;
  return layouts;
}();

// Mixture of experts, MoE (arXiv:2101.03961, 2401.04088): a router sends each row to a few of many feed-forward
// networks. Between Route and Combine a matrix has one line for each row and each of its experts, [rows * used, n], a
// row's lines next to each other in the order of its choices.
template <class B>
concept MoeRouting = Backend<B> &&
    requires(typename B::Context& context, typename B::View view, const typename B::Experts& experts,
             const typename B::Routing& routing, std::span<const std::vector<HostMatrix>> parts,
             const RoutingParams& params) {
  // parts[e] are stacked along their outputs, as in LoadMatrix; all experts have one shape.
  { B::LoadExperts(context, parts) } -> std::same_as<Result<typename B::Experts>>;
  { B::DescribeExperts(experts) } -> std::same_as<std::string>;
  // logits: [rows, experts]. The highest are chosen, of equal ones those of the lower index.
  { B::Route(context, view, params) } -> std::same_as<typename B::Routing>;
  // x: [rows, inputs] or [rows * used, inputs]. Yields [rows * used, outputs].
  { B::ExpertMatMul(context, view, experts, routing) } -> std::same_as<typename B::Buffer>;
  // x: [rows * used, n], biases: [1, experts * n]. Adds to each line the bias of its expert.
  { B::AddExpertBias(context, view, view, routing) } -> std::same_as<typename B::Buffer>;
  // The same with per-tensor scales, which multiply.
  { B::ScaleExpertColumns(context, view, view, routing) } -> std::same_as<typename B::Buffer>;
  // x: [rows * used, n]. Yields [rows, n], the sums of the rows' lines by their routing weights, in their order.
  { B::Combine(context, view, routing) } -> std::same_as<typename B::Buffer>;
  // x: [rows, n], logits: [rows, 1]. Multiplies each row by sigmoid(logit): how much of a shared expert it takes.
  { B::GateRows(context, view, view) } -> std::same_as<typename B::Buffer>;
};

}  // namespace inferflux::compute
