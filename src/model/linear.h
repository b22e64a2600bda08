// y = x W^T + b. The seam for weight formats and for sharding: which kernel runs is decided once, at load, inside.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"

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

}  // namespace inferflux::model
