// A short convolution over time in place of attention, gated before and after (LFM2, Liquid AI, 2025):
// output(c * conv(b * x)), where b, c and x are projections of the input.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "compute/recurrent_state.h"
#include "model/layers/attention.h"
#include "model/layers/linear.h"
#include "model/loading/weight_loader.h"
#include "model/model_config.h"

namespace inferflux::model {

// The recurrent states of a backend; nothing for a backend without them.
struct NoStates {};
template <compute::Backend B>
struct StatesOf {
  using Type = NoStates;
};
template <compute::RecurrentStates B>
struct StatesOf<B> {
  using Type = typename B::States;
};
template <compute::Backend B>
using States = typename StatesOf<B>::Type;

template <compute::Backend B>
struct ShortConvWeights {
  Linear<B> input;          // outputs: b, c, x [hidden] each
  compute::Buffer<B> taps;  // [1, taps * hidden]
  std::optional<compute::Buffer<B>> bias;
  Linear<B> output;
};

// `prefix`: "blk.0.".
template <compute::Backend B>
Result<ShortConvWeights<B>> LoadShortConv(const WeightLoader<B>& loader, const std::string& prefix) {
  const ModelConfig& config = loader.config();
  const std::string conv = prefix + "shortconv.conv";
  auto input = loader.LoadLinear({{prefix + "shortconv.in_proj", 3 * int64_t{config.hidden}}}, config.hidden);
  if (!input) return Forward(input);
  auto output = loader.LoadLinear({{prefix + "shortconv.out_proj", config.hidden}}, config.hidden);
  if (!output) return Forward(output);
  auto taps = loader.LoadColumns(conv + ".weight", config.hidden, config.conv_taps);
  if (!taps) return Forward(taps);
  ShortConvWeights<B> out{std::move(*input), std::move(*taps), {}, std::move(*output)};
  if (loader.Contains(conv + ".bias")) {
    auto bias = loader.LoadVector(conv + ".bias", config.hidden);
    if (!bias) return Forward(bias);
    out.bias = std::move(*bias);
  }
  return out;
}

// x: [rows, hidden] to [rows, hidden], or to [kept rows, hidden]. All rows pass the convolution.
template <compute::RecurrentStates B>
compute::Buffer<B> ShortConv(typename B::Context& context, const ModelConfig& config,
                             const ShortConvWeights<B>& weights, compute::View<B> x, const StepInputs<B>& step,
                             States<B>& states, int32_t layer, const KeptInputs<B>* kept) {
  const auto parts = weights.input(context, x);
  const int64_t width = config.hidden;
  const auto gated = B::Multiply(context, B::Columns(parts, 0, width), B::Columns(parts, 2 * width, width));
  auto y = B::ShortConv(context, gated, weights.taps, states, 2 * layer, step.batch);
  if (weights.bias) y = B::AddBias(context, y, *weights.bias);
  y = B::Multiply(context, B::Columns(parts, width, width), y);
  if (kept != nullptr) y = B::GatherRows(context, y, kept->rows);
  if (kept != nullptr && kept->rows.empty()) return y;
  return weights.output(context, y);
}

}  // namespace inferflux::model
