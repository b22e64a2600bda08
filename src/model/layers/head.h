// A layer of the head, which turns a text's pooled state into its embedding or into a classifier's scores.
#pragma once

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "model/layers/linear.h"
#include "model/layers/norm.h"
#include "model/loading/weight_loader.h"
#include "model/model_config.h"

namespace inferflux::model {

inline float Activated(float x, HeadActivation activation) {
  switch (activation) {
    case HeadActivation::kTanh:
      return std::tanh(x);
    case HeadActivation::kRelu:
      return x > 0.0f ? x : 0.0f;
    case HeadActivation::kGelu:
      return 0.5f * x * (1.0f + std::erf(x * 0.7071067811865476f));  // 1 / sqrt(2)
    case HeadActivation::kSilu:
      return x / (1.0f + std::exp(-x));
    case HeadActivation::kNone:
      break;
  }
  return x;
}

template <compute::Backend B>
struct HeadLayerWeights {
  Linear<B> linear;
  HeadActivation activation = HeadActivation::kNone;
  std::optional<Norm<B>> norm;

  // x: [1, inputs] to [1, outputs].
  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const {
    auto y = linear(context, x);
    if (activation != HeadActivation::kNone) {
      std::vector<float> values = B::Read(context, y);
      for (float& value : values) value = Activated(value, activation);
      y = B::LoadVector(context, values);
    }
    return norm ? (*norm)(context, y) : std::move(y);
  }
};

template <compute::Backend B>
Result<HeadLayerWeights<B>> LoadHeadLayer(const WeightLoader<B>& loader, const HeadLayer& layer) {
  auto linear = loader.LoadLinear({{layer.tensor, layer.outputs}}, layer.inputs);
  if (!linear) return Forward(linear);
  HeadLayerWeights<B> out{.linear = std::move(*linear), .activation = layer.activation, .norm = {}};
  if (layer.norm.empty()) return out;
  auto norm = loader.LoadNorm(layer.norm, layer.outputs);
  if (!norm) return Forward(norm);
  out.norm = std::move(*norm);
  return out;
}

}  // namespace inferflux::model
