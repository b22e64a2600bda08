// What some models need beyond compute::Backend, each a refining concept. A model that needs one that the backend lacks
// is refused when its weights are loaded, by the name of the concept.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "compute/backend.h"
#include "compute/sampling.h"

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

// Weights of which each tensor has a factor beside its own scales, as NVFP4's have: it multiplies what a product
// yields.
template <class B>
concept TensorScales = Backend<B> && requires(typename B::Context& context, typename B::View view) {
  { B::ScaleColumns(context, view, view) } -> std::same_as<typename B::Buffer>;  // [rows, n] * [1, n]
};

// A backend whose KV the host can address: KV leaves an engine through it and comes back.
template <class B, class E>
concept AddressableKv = PagedKv<B, E> &&
    requires(typename B::template KvCache<E>& cache, int32_t block, FunctionRef<void(std::span<std::byte>)> visit) {
  // Visits all keys and values of the block, and their scales, always in the same order. They may be written.
  { B::template VisitKvBlock<E>(cache, block, visit) } -> std::same_as<void>;
};

// A backend that chooses tokens where the logits are: they need not reach the host. logits: [rows.size(), vocab].
// Results are those of engine/sampling, up to rounding. Rows that CanSample refuses are sampled on the host.
template <class B>
concept DeviceSampling = Backend<B> && requires(typename B::Context& context, typename B::View logits,
                                                const SampleRow& row, std::span<const SampleRow> rows) {
  { B::CanSample(row) } -> std::same_as<bool>;
  { B::Sample(context, logits, rows) } -> std::same_as<Result<std::vector<SampledToken>>>;
};

// A backend that takes the time on its device. A mark is passed when the work that was given before has ended; to read
// the time between two marks waits for the second.
template <class B>
concept DeviceTimer = Backend<B> && requires(typename B::Context& context, const typename B::TimeMark& mark) {
  { B::MarkTime(context) } -> std::same_as<typename B::TimeMark>;
  { B::SecondsBetween(mark, mark) } -> std::same_as<double>;
};

// A backend that records a step's operations once and runs them again on other inputs (CUDA graphs).
template <class B>
concept GraphCapture = Backend<B> &&
    requires(typename B::Context& context, FunctionRef<void()> step, typename B::Graph& graph) {
  { B::Capture(context, step) } -> std::same_as<Result<typename B::Graph>>;
  { B::Replay(context, graph) } -> std::same_as<void>;
};

// A backend that puts rows from elsewhere in the place of embeddings, as an image's are.
template <class B>
concept EmbeddingInputs = Backend<B> &&
    requires(typename B::Context& context, typename B::View x, std::span<const int32_t> rows, typename B::View values) {
  { B::ReplaceRows(context, x, rows, values) } -> std::same_as<typename B::Buffer>;
};

// A backend that holds some weights in another form than the file: what that costs, a line a type.
template <class B>
concept LoadNotes = Backend<B> && requires(const typename B::Context& context) {
  { B::LoadNotes(context) } -> std::same_as<std::vector<std::string>>;
};

// A backend that takes weights in forms that GGUF has not, in HostMatrix::form, as they are.
template <class B>
concept OwnWeightLayouts = Backend<B> && requires {
  { B::kWeightLayouts } -> std::convertible_to<formats::WeightLayouts>;
};

template <Backend B>
inline constexpr formats::WeightLayouts kWeightLayoutsOf = [] {
  if constexpr (OwnWeightLayouts<B>) return B::kWeightLayouts;
  return formats::WeightLayouts{};
}();

// Activations in another order, for weights whose inputs are.
template <class B>
concept ActOrder = Backend<B> &&
    requires(typename B::Context& context, typename B::View view, std::span<const int32_t> columns) {
  { B::GatherColumns(context, view, columns) } -> std::same_as<typename B::Buffer>;  // [rows, columns.size()]
};

// Those of a product's weights. Experts and tables take kWeightLayoutsOf.
template <Backend B>
inline constexpr formats::WeightLayouts kMatmulLayoutsOf = [] {
  formats::WeightLayouts forms = kWeightLayoutsOf<B>;
  forms.ordered = ActOrder<B>;
  return forms;
}();

// Mixtures of experts (arXiv:2101.03961, 2401.04088): a router sends each row to a few of many feed-forward networks.
// Between Route and Combine a matrix has one line for each row and each of its experts, [rows * used, n], a row's lines
// next to each other in the order of its choices.
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
  // The same of factors, which multiply.
  { B::ScaleExpertColumns(context, view, view, routing) } -> std::same_as<typename B::Buffer>;
  // x: [rows * used, n]. Yields [rows, n], the sums of the rows' lines by their routing weights, in their order.
  { B::Combine(context, view, routing) } -> std::same_as<typename B::Buffer>;
  // x: [rows, n], logits: [rows, 1]. Multiplies each row by sigmoid(logit): how much of a shared expert it takes.
  { B::GateRows(context, view, view) } -> std::same_as<typename B::Buffer>;
};

}  // namespace inferflux::compute
