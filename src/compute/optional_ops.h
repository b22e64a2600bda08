// Operations that some models need beyond compute::Backend, each a refining concept. If the backend lacks one that a
// model needs, loading fails with the name of the concept.
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

// A residual sum and the norm of it that follows, in one operation with the bits of Add and RmsNorm over whole rows.
template <class Buffer>
struct SumAndNorm {
  Buffer sum;
  Buffer normed;
};
template <class B>
concept AddNorms = Backend<B> && requires(typename B::Context& context, typename B::View view, float epsilon) {
  {
    B::AddRmsNorm(context, view, view, view, epsilon)
    } -> std::same_as<SumAndNorm<typename B::Buffer>>;  // (a, b, weight)
};

// A product with what a gate lets pass, whose inputs are not needed otherwise: MatMul(Gate(gate, up, activation)).
template <class B>
concept GateProducts = Backend<B> &&
    requires(typename B::Context& context, typename B::View view, Activation kind, const typename B::Matrix& matrix) {
  { B::GateMatMul(context, view, view, kind, matrix) } -> std::same_as<typename B::Buffer>;
};

// An activation without a gate.
template <class B>
concept Activations = Backend<B> && requires(typename B::Context& context, typename B::View view, Activation kind) {
  { B::Activate(context, view, kind) } -> std::same_as<typename B::Buffer>;
};

// y = cap * tanh(x / cap): Gemma 2's bound on logits (arXiv:2408.00118).
template <class B>
concept SoftCaps = Backend<B> && requires(typename B::Context& context, typename B::View view, float cap) {
  { B::SoftCap(context, view, cap) } -> std::same_as<typename B::Buffer>;
};

// Attention whose softmax has one more logit per head, which takes weight but has no value (arXiv:2309.17453). sinks:
// [1, heads].
template <class B, class E>
concept AttentionSinks = PagedKv<B, E> &&
    requires(typename B::Context& context, const typename B::template KvCache<E>& filled, typename B::View view,
             const typename B::Batch& batch, const AttentionParams& attention, int32_t layer) {
  {
    B::template AttendWithSinks<E>(context, view, filled, layer, batch, attention, view)
    } -> std::same_as<typename B::Buffer>;
};

// Attention that adds a bias to each score, by head and by the distance from the query to the key (arXiv:1910.10683).
// biases: [1, heads * (2 * n - 1)], a head's from the distance -(n - 1) to n - 1; n: the most tokens of a sequence.
template <class B, class E>
concept AttentionBiases = PagedKv<B, E> &&
    requires(typename B::Context& context, const typename B::template KvCache<E>& filled, typename B::View view,
             const typename B::Batch& batch, const AttentionParams& attention, int32_t layer) {
  {
    B::template AttendWithBiases<E>(context, view, filled, layer, batch, attention, view)
    } -> std::same_as<typename B::Buffer>;
};

// Weights with a per-tensor scale in addition to the scales of their blocks, as in NVFP4: it multiplies the matmul's
// result.
template <class B>
concept TensorScales = Backend<B> && requires(typename B::Context& context, typename B::View view) {
  { B::ScaleColumns(context, view, view) } -> std::same_as<typename B::Buffer>;  // [rows, n] * [1, n]
};

// A backend that takes weight layouts that GGUF does not have (HostMatrix::layout) without conversion.
template <class B>
concept OwnWeightLayouts = Backend<B> && requires {
  { B::kWeightLayouts } -> std::convertible_to<formats::WeightLayouts>;
};

template <Backend B>
inline constexpr formats::WeightLayouts kWeightLayoutsOf = [] {
  if constexpr (OwnWeightLayouts<B>) return B::kWeightLayouts;
  return formats::WeightLayouts{};
}();

// Reorders the columns of activations, for weights with an act-order permutation.
template <class B>
concept ActOrder = Backend<B> &&
    requires(typename B::Context& context, typename B::View view, std::span<const int32_t> columns) {
  { B::GatherColumns(context, view, columns) } -> std::same_as<typename B::Buffer>;  // [rows, columns.size()]
};

// The layouts that matmuls support. Experts and tables support kWeightLayoutsOf.
template <Backend B>
inline constexpr formats::WeightLayouts kMatmulLayoutsOf = [] {
  formats::WeightLayouts layouts = kWeightLayoutsOf<B>;
  layouts.ordered = ActOrder<B>;
  return layouts;
}();

// Streams: parts of a row, side by side, of the same width (AltUp, arXiv:2301.13310).
template <class B>
concept StreamMixing = Backend<B> && requires(typename B::Context& context, typename B::View view, int32_t inputs) {
  // (x, factors, inputs). x: [rows, inputs * n]; factors: [rows, outputs * inputs], or one row for all. Output o is the
  // sum over i, in order, of input i times factors[o * inputs + i]. Returns [rows, outputs * n].
  { B::MixStreams(context, view, view, inputs) } -> std::same_as<typename B::Buffer>;
  // (x, like). x: [rows, streams * n]; like: [rows, n]. Scales each stream so that its mean square, of at least
  // kLeastMeanSquare, becomes that of `like`.
  { B::MatchMagnitudes(context, view, view) } -> std::same_as<typename B::Buffer>;
};

// max(x - (mean + deviations * standard deviation), 0), by the mean and the deviation of each row: what is left of a
// row that is normally distributed is a share that the number of deviations gives.
template <class B>
concept ActivationSparsity = Backend<B> &&
    requires(typename B::Context& context, typename B::View view, float deviations) {
  { B::CutRows(context, view, deviations) } -> std::same_as<typename B::Buffer>;
};

// Mixture of experts, MoE (arXiv:2101.03961, 2401.04088): a router sends each row to a few of many feed-forward
// networks. Between Route and Combine a matrix has one line for each row and each of its experts, [rows * used, n], a
// row's lines next to each other in the order of its choices.
template <class B>
concept MoeRouting = Backend<B> &&
    requires(typename B::Context& context, typename B::View view, const typename B::Experts& experts,
             const typename B::Routing& routing, std::span<const std::vector<HostMatrix>> parts,
             const RoutingParams& params, const typename B::View* biases) {
  // parts[e] are stacked along their outputs, as in LoadMatrix; all experts have the same shape.
  { B::LoadExperts(context, parts) } -> std::same_as<Result<typename B::Experts>>;
  { B::DescribeExperts(experts) } -> std::same_as<std::string>;
  // logits: [rows, experts]; biases: [1, experts] or null. Chooses the highest; the lower index on ties.
  { B::Route(context, view, params, biases) } -> std::same_as<typename B::Routing>;
  // x: [rows, inputs] or [rows * used, inputs]. Returns [rows * used, outputs].
  { B::ExpertMatMul(context, view, experts, routing) } -> std::same_as<typename B::Buffer>;
  // x: [rows * used, n], biases: [1, experts * n]. Adds the bias of its expert to each line.
  { B::AddExpertBias(context, view, view, routing) } -> std::same_as<typename B::Buffer>;
  // The same with per-tensor scales, which multiply.
  { B::ScaleExpertColumns(context, view, view, routing) } -> std::same_as<typename B::Buffer>;
  // x: [rows * used, n]. Returns [rows, n]: for each row the sum of its lines, weighted by its routing weights, in
  // order.
  { B::Combine(context, view, routing) } -> std::same_as<typename B::Buffer>;
  // x: [rows, n], logits: [rows, 1]. Multiplies each row by sigmoid(logit): the gate of a shared expert.
  { B::GateRows(context, view, view) } -> std::same_as<typename B::Buffer>;
};

}  // namespace inferflux::compute
