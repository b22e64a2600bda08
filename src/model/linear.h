// y = x W^T + b. The seam for weight formats and for sharding: which kernel runs is decided once, at load, inside.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/optional_ops.h"

namespace inferflux::model {

template <compute::Backend B>
class Linear {
 public:
  // `parts` are stacked along their outputs. `bias` has one value an output, or is empty.
  static Result<Linear> Load(typename B::Context& context, std::span<const compute::HostMatrix> parts,
                             std::span<const float> bias) {
    auto matrix = B::LoadMatrix(context, parts);
    if (!matrix) return Forward(matrix);
    Linear out(std::move(*matrix));
    if (!bias.empty()) out.bias_ = B::LoadVector(context, bias);
    return out;
  }

  // x: [rows, inputs] to [rows, outputs].
  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const {
    auto y = B::MatMul(context, x, matrix_);
    return bias_ ? B::AddBias(context, y, *bias_) : std::move(y);
  }

  std::string Describe() const { return B::Describe(matrix_); }

 private:
  explicit Linear(typename B::Matrix matrix) : matrix_(std::move(matrix)) {}

  typename B::Matrix matrix_;
  std::optional<compute::Buffer<B>> bias_;
};

// One such product for each expert of a mixture; lines go to the experts that the routing names.
template <compute::Backend B>  // that has MoeRouting
class ExpertLinear {
 public:
  // `parts[e]` are stacked along their outputs. `biases`: [experts, outputs], or empty.
  static Result<ExpertLinear> Load(typename B::Context& context, std::span<const std::vector<compute::HostMatrix>> parts,
                                   std::span<const float> biases) {
    auto experts = B::LoadExperts(context, parts);
    if (!experts) return Forward(experts);
    ExpertLinear out(std::move(*experts));
    if (!biases.empty()) out.biases_ = B::LoadVector(context, biases);
    return out;
  }

  // x: [rows, inputs] or [rows * used, inputs], to [rows * used, outputs].
  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x,
                                const typename B::Routing& routing) const {
    auto y = B::ExpertMatMul(context, x, experts_, routing);
    return biases_ ? B::AddExpertBias(context, y, *biases_, routing) : std::move(y);
  }

  std::string Describe() const { return B::DescribeExperts(experts_); }

 private:
  explicit ExpertLinear(typename B::Experts experts) : experts_(std::move(experts)) {}

  typename B::Experts experts_;
  std::optional<compute::Buffer<B>> biases_;
};

}  // namespace inferflux::model
