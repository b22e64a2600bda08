// Gated DeltaNet in place of attention (arXiv:2412.06464): a short convolution with SiLU
// over queries, keys and values, the gated delta rule, and a norm on each head whose result is gated.
#pragma once

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
struct DeltaNetWeights {
  Linear<B> input;  // outputs: q and k [keys] each, v and z [values] each
  Linear<B> rates;  // outputs: b and a [value heads] each
  compute::Buffer<B> taps, steps, coefficients;
  Norm<B> norm;
  Linear<B> output;
};

// q, k, v and z are two tensors, or one (ssm_in) in which they alternate from key head to key head; so are b and a
// (ssm_ba).
template <compute::Backend B>
Result<DeltaNetWeights<B>> LoadDeltaNet(const WeightLoader<B>& loader, const std::string& prefix) {
  const ModelConfig& config = loader.config();
  const compute::DeltaNetParams& params = *config.delta_net;
  const int64_t width = 2 * params.keys() + params.values(), all = width + params.values();
  const int64_t repeat = params.value_heads / params.key_heads, values = repeat * params.value_dim;
  std::vector<WeightPart> parts{{prefix + "attn_qkv", width}, {prefix + "attn_gate", params.values()}};
  if (loader.Contains(prefix + "ssm_in.weight")) {
    parts.clear();
    int64_t offset = 0;
    for (const int64_t run : {int64_t{params.key_dim}, int64_t{params.key_dim}, values, values}) {
      for (int64_t head = 0; head < params.key_heads; ++head) {
        parts.push_back({prefix + "ssm_in", run, head * (all / params.key_heads) + offset, all});
      }
      offset += run;
    }
  }
  std::vector<WeightPart> rates{{prefix + "ssm_beta", params.value_heads}, {prefix + "ssm_alpha", params.value_heads}};
  if (loader.Contains(prefix + "ssm_ba.weight")) {
    rates.clear();
    for (const int64_t offset : {int64_t{0}, repeat}) {
      for (int64_t head = 0; head < params.key_heads; ++head) {
        rates.push_back({prefix + "ssm_ba", repeat, 2 * head * repeat + offset, 2 * int64_t{params.value_heads}});
      }
    }
  }
  auto input = loader.LoadLinear(parts, config.hidden);
  if (!input) return Forward(input);
  auto ba = loader.LoadLinear(rates, config.hidden);
  if (!ba) return Forward(ba);
  auto taps = loader.LoadColumns(prefix + "ssm_conv1d.weight", width, config.conv_taps);
  if (!taps) return Forward(taps);
  auto steps = loader.LoadVector(prefix + "ssm_dt.bias", params.value_heads);
  if (!steps) return Forward(steps);
  auto coefficients = loader.LoadVector(prefix + "ssm_a", params.value_heads);
  if (!coefficients) return Forward(coefficients);
  auto norm = loader.LoadRmsNorm(prefix + "ssm_norm", params.value_dim);
  if (!norm) return Forward(norm);
  auto output = loader.LoadLinear({{prefix + "ssm_out", config.hidden}}, params.values());
  if (!output) return Forward(output);
  return DeltaNetWeights<B>{std::move(*input),        std::move(*ba),   std::move(*taps),  std::move(*steps),
                            std::move(*coefficients), std::move(*norm), std::move(*output)};
}

// x: [rows, hidden] to [rows, hidden], or to [kept rows, hidden]. All rows pass the recurrence.
template <compute::RecurrentStates B>
compute::Buffer<B> GatedDeltaNet(typename B::Context& context, const ModelConfig& config,
                                 const DeltaNetWeights<B>& weights, compute::View<B> x, const StepInputs<B>& step,
                                 States<B>& states, int32_t layer, const KeptInputs<B>* kept) {
  const compute::DeltaNetParams& params = *config.delta_net;
  const int64_t width = 2 * params.keys() + params.values(), heads = params.value_heads;
  const auto parts = weights.input(context, x);
  const auto rates = weights.rates(context, x);
  auto qkv = B::ShortConv(context, B::Columns(parts, 0, width), weights.taps, states, 2 * layer, step.batch);
  qkv = B::Activate(context, qkv, compute::Activation::kSilu);
  const auto y = B::GatedDelta(context, qkv, B::Columns(rates, 0, heads), B::Columns(rates, heads, heads),
                               weights.steps, weights.coefficients, states, 2 * layer + 1, step.batch, params);
  if (kept != nullptr && kept->rows.empty()) return B::GatherRows(context, x, {});
  const auto z = B::Columns(parts, width, params.values());
  const Value<B> result =
      kept == nullptr ? Value<B>(compute::View<B>(y)) : Value<B>(B::GatherRows(context, y, kept->rows));
  const Value<B> gate = kept == nullptr ? Value<B>(z) : Value<B>(B::GatherRows(context, z, kept->rows));
  return weights.output(context, B::Gate(context, gate, weights.norm(context, result), compute::Activation::kSilu));
}

}  // namespace inferflux::model
