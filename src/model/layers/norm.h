// A normalisation and its weights: LayerNorm if there is a bias, otherwise RMSNorm.
#pragma once

#include <optional>
#include <utility>

#include "compute/optional_ops.h"

namespace inferflux::model {

// Rows, and the norm of them that follows where one operation made both.
template <compute::Backend B>
struct RowsWithNorm {
  compute::Buffer<B> values;
  std::optional<compute::Buffer<B>> normed;
};

template <compute::Backend B>
class Norm {
 public:
  Norm(compute::Buffer<B> weight, float epsilon) : weight_(std::move(weight)), epsilon_(epsilon) {}
  Norm(compute::Buffer<B> weight, compute::Buffer<B> bias, float epsilon) requires compute::LayerNorms<B>
      : weight_(std::move(weight)), bias_(std::move(bias)), epsilon_(epsilon) {}

  // x: [rows, n] to [rows, n]. An RMSNorm whose weight has fewer columns normalises each run of that width: each head.
  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const {
    if constexpr (compute::LayerNorms<B>) {
      if (bias_) return B::LayerNorm(context, x, weight_, *bias_, epsilon_);
    }
    return B::RmsNorm(context, x, weight_, epsilon_);
  }

  // a + b, and this norm of it if the backend makes both at once. The weight is as wide as the rows.
  RowsWithNorm<B> OfSum(typename B::Context& context, compute::View<B> a, compute::View<B> b) const {
    if constexpr (compute::AddNorms<B>) {
      if (!bias_) {
        auto made = B::AddRmsNorm(context, a, b, weight_, epsilon_);
        return {std::move(made.sum), std::move(made.normed)};
      }
    }
    return {B::Add(context, a, b), std::nullopt};
  }

 private:
  compute::Buffer<B> weight_;
  std::optional<compute::Buffer<B>> bias_;
  float epsilon_;
};

// The norms around a sub-layer; most models have only the first.
template <compute::Backend B>
struct SubLayerNorms {
  std::optional<Norm<B>> input;
  std::optional<Norm<B>> output;
  std::optional<Norm<B>> residual;  // of the sum of the sub-layer's input and output
};

}  // namespace inferflux::model
