// y = scale * (x W^T) + b, with x's columns permuted if W uses act-order. Isolates callers from weight formats and
// sharding: the kernel is chosen once, at load, and so is what the ranks of a shared model do with the product.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/optional_ops.h"
#include "compute/rank_collectives.h"

namespace inferflux::model {

// Applied to the outputs of a matmul: one value per output (of each expert, expert by expert), or none.
struct OutputTerms {
  std::vector<float> scales;  // per-tensor scales; only for a backend that has TensorScales
  std::vector<float> biases;
};

template <compute::Backend B>
class Linear {
 public:
  // `parts` are stacked along their outputs. `order`: the act-order permutation, which gives the input of each column;
  // empty if the columns are in order. Only for a backend that has ActOrder.
  static Result<Linear> Load(typename B::Context& context, std::span<const compute::HostMatrix> parts,
                             const OutputTerms& terms, std::vector<int32_t> order = {}) {
    auto matrix = B::LoadMatrix(context, parts);
    if (!matrix) return Forward(matrix);
    Linear out(std::move(*matrix));
    out.order_ = std::move(order);
    if (!terms.scales.empty()) out.scales_ = B::LoadVector(context, terms.scales);
    if (!terms.biases.empty()) out.bias_ = B::LoadVector(context, terms.biases);
    return out;
  }

  // Each rank has some of the inputs, and the product is the sum over all.
  void SumOverRanks() { summed_ = true; }
  // Each rank has some of the outputs, as many as `counts` says, and the result is all of them. Empty: it is one's own.
  void GatherOverRanks(std::vector<int64_t> counts) { gathered_ = std::move(counts); }

  // x: [rows, inputs] to [rows, outputs].
  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const {
    return WithTerms(context, Product(context, x));
  }

  // The same of act(gate) * up, each [rows, inputs].
  compute::Buffer<B> OfGate(typename B::Context& context, compute::View<B> gate, compute::View<B> up,
                            compute::Activation activation) const {
    if constexpr (compute::GateProducts<B>) {
      if (order_.empty()) return WithTerms(context, B::GateMatMul(context, gate, up, activation, matrix_));
    }
    return (*this)(context, B::Gate(context, gate, up, activation));
  }

  std::string Describe() const {
    return B::Describe(matrix_) + (order_.empty() ? "" : ", inputs in an order of their own") +
           (summed_ ? ", summed over ranks" : "") + (gathered_.empty() ? "" : ", gathered from ranks");
  }

 private:
  explicit Linear(typename B::Matrix matrix) : matrix_(std::move(matrix)) {}

  compute::Buffer<B> Product(typename B::Context& context, compute::View<B> x) const {
    if constexpr (compute::ActOrder<B>) {
      if (!order_.empty()) return B::MatMul(context, B::GatherColumns(context, x, order_), matrix_);
    }
    return B::MatMul(context, x, matrix_);
  }

  // Scaled, summed or gathered over ranks, and with its bias.
  compute::Buffer<B> WithTerms(typename B::Context& context, compute::Buffer<B> y) const {
    if constexpr (compute::TensorScales<B>) {
      if (scales_) y = B::ScaleColumns(context, y, *scales_);
    }
    if constexpr (compute::RankCollectives<B>) {
      if (summed_) y = B::SumOverRanks(context, std::move(y));
    }
    if (bias_) y = B::AddBias(context, y, *bias_);
    if constexpr (compute::RankCollectives<B>) {
      if (!gathered_.empty()) y = B::GatherOverRanks(context, y, gathered_);
    }
    return y;
  }

  typename B::Matrix matrix_;
  std::vector<int32_t> order_;
  std::optional<compute::Buffer<B>> scales_;
  std::optional<compute::Buffer<B>> bias_;
  bool summed_ = false;
  std::vector<int64_t> gathered_;
};

// One linear layer for each expert of an MoE. The routing selects the experts of each row.
template <compute::Backend B>  // that has MoeRouting
class ExpertLinear {
 public:
  // `parts[e]` are stacked along their outputs.
  static Result<ExpertLinear> Load(typename B::Context& context,
                                   std::span<const std::vector<compute::HostMatrix>> parts, const OutputTerms& terms) {
    auto experts = B::LoadExperts(context, parts);
    if (!experts) return Forward(experts);
    ExpertLinear out(std::move(*experts));
    if (!terms.scales.empty()) out.scales_ = B::LoadVector(context, terms.scales);
    if (!terms.biases.empty()) out.biases_ = B::LoadVector(context, terms.biases);
    return out;
  }

  // x: [rows, inputs] or [rows * used, inputs], to [rows * used, outputs].
  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x,
                                const typename B::Routing& routing) const {
    auto y = B::ExpertMatMul(context, x, experts_, routing);
    if (scales_) y = B::ScaleExpertColumns(context, y, *scales_, routing);
    return biases_ ? B::AddExpertBias(context, y, *biases_, routing) : std::move(y);
  }

  // Of heads instead of experts: x [rows, heads * inputs] to [rows, heads * outputs].
  compute::Buffer<B> EachHead(typename B::Context& context, compute::View<B> x) const {
    auto y = B::HeadMatMul(context, x, experts_);
    if (scales_) y = B::ScaleColumns(context, y, *scales_);
    return biases_ ? B::AddBias(context, y, *biases_) : std::move(y);
  }

  std::string Describe() const { return B::DescribeExperts(experts_); }

 private:
  explicit ExpertLinear(typename B::Experts experts) : experts_(std::move(experts)) {}

  typename B::Experts experts_;
  std::optional<compute::Buffer<B>> scales_;
  std::optional<compute::Buffer<B>> biases_;
};

}  // namespace inferflux::model
