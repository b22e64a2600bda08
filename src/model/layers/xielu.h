// xIELU (model_config.h) from a backend's own operations: its parts above and below zero are activations.
#pragma once

#include "compute/optional_ops.h"
#include "model/model_config.h"

namespace inferflux::model {

// x: [rows, n] to [rows, n].
template <compute::Activations B>
compute::Buffer<B> ApplyXielu(typename B::Context& context, compute::View<B> x, const Xielu& by) {
  const auto above = B::Scale(context, B::Activate(context, x, compute::Activation::kReluSquared), by.above);
  const auto below = B::Scale(context, B::Activate(context, x, compute::Activation::kExpExcess), by.below);
  return B::Add(context, B::Add(context, above, below), B::Scale(context, x, by.linear));
}

}  // namespace inferflux::model
