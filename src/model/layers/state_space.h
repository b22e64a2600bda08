// Mamba-2 in place of attention or beside it (arXiv:2405.21060): a short convolution with SiLU over x, b and c, the
// selective scan, and a gate before a norm on each group.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/recurrent_state.h"
#include "model/layers/norm.h"
#include "model/layers/short_conv.h"
#include "model/loading/weight_loader.h"
#include "model/model_config.h"

namespace inferflux::model {

template <compute::Backend B>
struct StateSpaceWeights {
  Linear<B> input;  // outputs: the gate [inner], x [inner], b and c [groups * state] each, dt [heads]
  compute::Buffer<B> taps;
  std::optional<compute::Buffer<B>> bias;  // of the convolution
  compute::Buffer<B> steps, coefficients, skips;
  std::optional<Norm<B>> norm;                    // one group's, if there are several: without its weight
  std::optional<compute::Buffer<B>> norm_weight;  // [1, inner]
  Linear<B> output;
};

// The norm's weights differ from group to group, which RmsNorm does not know.
template <compute::TensorScales B>
Status LoadGroupNorm(typename B::Context& context, const WeightLoader<B>& loader, const std::string& name,
                     StateSpaceWeights<B>* weights) {
  const compute::StateSpaceParams& params = *loader.config().state_space;
  const int64_t width = params.inner() / params.groups;
  const auto values = loader.LoadValues(name, params.groups, width);
  if (!values) return Forward(values);
  if (params.groups == 1) {
    weights->norm.emplace(B::LoadVector(context, *values), loader.config().norm_epsilon);
    return {};
  }
  const std::vector<float> ones(static_cast<size_t>(width), 1.0f);
  weights->norm.emplace(B::LoadVector(context, ones), loader.config().norm_epsilon);
  weights->norm_weight = B::LoadVector(context, *values);
  return {};
}

// `prefix`: "blk.0.".
template <compute::TensorScales B>
Result<StateSpaceWeights<B>> LoadStateSpace(typename B::Context& context, const WeightLoader<B>& loader,
                                            const std::string& prefix) {
  const ModelConfig& config = loader.config();
  const compute::StateSpaceParams& params = *config.state_space;
  auto input = loader.LoadLinear({{prefix + "ssm_in", params.inner() + params.width() + params.heads}}, config.hidden);
  if (!input) return Forward(input);
  auto taps = loader.LoadColumns(prefix + "ssm_conv1d.weight", params.width(), config.conv_taps);
  if (!taps) return Forward(taps);
  auto steps = loader.LoadVector(prefix + "ssm_dt.bias", params.heads);
  if (!steps) return Forward(steps);
  auto coefficients = loader.LoadColumns(prefix + "ssm_a", params.heads, 1);
  if (!coefficients) return Forward(coefficients);
  auto skips = loader.LoadColumns(prefix + "ssm_d", params.heads, 1);
  if (!skips) return Forward(skips);
  auto output = loader.LoadLinear({{prefix + "ssm_out", config.hidden}}, params.inner());
  if (!output) return Forward(output);
  StateSpaceWeights<B> out{.input = std::move(*input),
                           .taps = std::move(*taps),
                           .bias = {},
                           .steps = std::move(*steps),
                           .coefficients = std::move(*coefficients),
                           .skips = std::move(*skips),
                           .norm = {},
                           .norm_weight = {},
                           .output = std::move(*output)};
  if (const std::string bias = prefix + "ssm_conv1d.bias"; loader.Contains(bias)) {
    auto loaded = loader.LoadVector(bias, params.width());
    if (!loaded) return Forward(loaded);
    out.bias = std::move(*loaded);
  }
  if (const std::string norm = prefix + "ssm_norm.weight"; loader.Contains(norm)) {
    if (auto loaded = LoadGroupNorm<B>(context, loader, norm, &out); !loaded) return Forward(loaded);
  }
  return out;
}

// x: [rows, hidden] to [rows, hidden], or to [kept rows, hidden]. All rows pass the recurrence.
template <compute::SelectiveScans B>
compute::Buffer<B> StateSpace(typename B::Context& context, const ModelConfig& config,
                              const StateSpaceWeights<B>& weights, compute::View<B> x, const StepInputs<B>& step,
                              States<B>& states, int32_t layer, const KeptInputs<B>* kept) {
  const compute::StateSpaceParams& params = *config.state_space;
  const int64_t inner = params.inner(), width = params.width();
  const auto parts = weights.input(context, x);
  auto xbc = B::ShortConv(context, B::Columns(parts, inner, width), weights.taps, states, 2 * layer, step.batch);
  if (weights.bias) xbc = B::AddBias(context, xbc, *weights.bias);
  xbc = B::Activate(context, xbc, compute::Activation::kSilu);
  const auto y = B::SelectiveScan(context, xbc, B::Columns(parts, inner + width, params.heads), weights.steps,
                                  weights.coefficients, weights.skips, states, 2 * layer + 1, step.batch, params);
  if (kept != nullptr && kept->rows.empty()) return B::GatherRows(context, x, {});
  const auto z = B::Columns(parts, 0, inner);
  const Value<B> result =
      kept == nullptr ? Value<B>(compute::View<B>(y)) : Value<B>(B::GatherRows(context, y, kept->rows));
  const Value<B> gate = kept == nullptr ? Value<B>(z) : Value<B>(B::GatherRows(context, z, kept->rows));
  auto gated = B::Gate(context, gate, result, compute::Activation::kSilu);
  if (weights.norm) gated = (*weights.norm)(context, gated);
  if (weights.norm_weight) gated = B::ScaleColumns(context, gated, *weights.norm_weight);
  return weights.output(context, gated);
}

}  // namespace inferflux::model
