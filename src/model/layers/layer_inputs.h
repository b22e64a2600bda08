// Inputs that each layer has from the tokens, beside the residual stream: per-layer embeddings (Google, 2025). A table
// has a row of all layers' inputs for each token, to which a projection of the embedding is added.
#pragma once

#include <cmath>
#include <string>
#include <utility>

#include "model/layers/linear.h"
#include "model/layers/norm.h"
#include "model/loading/weight_loader.h"
#include "model/model_config.h"

namespace inferflux::model {

// Of the model: makes the inputs of all layers.
template <compute::Backend B>
struct LayerInputTable {
  typename B::Table table;  // [vocab_size, layers * width]
  Linear<B> projection;     // hidden to layers * width
  Norm<B> norm;             // of each layer's run of the projection

  // x: the embeddings, [rows, hidden], of the tokens of `batch`. Returns [rows, layers * width].
  compute::Buffer<B> operator()(typename B::Context& context, const ModelConfig& config, compute::View<B> x,
                                const typename B::Batch& batch) const {
    const auto own =
        B::Scale(context, B::Embed(context, table, batch), std::sqrt(static_cast<float>(config.layer_input)));
    const auto projected =
        B::Scale(context, projection(context, x), 1.0f / std::sqrt(static_cast<float>(config.hidden)));
    return B::Scale(context, B::Add(context, norm(context, projected), own), std::sqrt(0.5f));
  }
};

// Of a layer: adds norm(projection(act(gate(x)) * input)) to x, or to streams.
template <compute::Backend B>
struct LayerInputWeights {
  Linear<B> gate;        // hidden to width
  Linear<B> projection;  // width to hidden
  Norm<B> norm;

  // x: [rows, hidden]; inputs: [rows, layers * width].
  compute::Buffer<B> operator()(typename B::Context& context, const ModelConfig& config, compute::View<B> x,
                                const compute::Buffer<B>& inputs, int32_t layer) const {
    return B::Add(context, x, Addend(context, config, x, inputs, layer));
  }
  // What is added.
  compute::Buffer<B> Addend(typename B::Context& context, const ModelConfig& config, compute::View<B> x,
                            const compute::Buffer<B>& inputs, int32_t layer) const {
    const auto own = B::Columns(inputs, int64_t{layer} * config.layer_input, config.layer_input);
    const auto gated = B::Gate(context, gate(context, x), own, config.activation);
    return norm(context, projection(context, gated));
  }
};

template <compute::Backend B>
Result<LayerInputTable<B>> LoadLayerInputTable(const WeightLoader<B>& loader) {
  const ModelConfig& config = loader.config();
  const int64_t all = int64_t{config.layers} * config.layer_input;
  auto table = loader.LoadTable("per_layer_token_embd.weight", config.vocab_size, all);
  if (!table) return Forward(table);
  auto projection = loader.LoadLinear({{"per_layer_model_proj", all}}, config.hidden);
  if (!projection) return Forward(projection);
  auto norm = loader.LoadRmsNorm("per_layer_proj_norm", config.layer_input);
  if (!norm) return Forward(norm);
  return LayerInputTable<B>{std::move(*table), std::move(*projection), std::move(*norm)};
}

// `prefix`: "blk.0.".
template <compute::Backend B>
Result<LayerInputWeights<B>> LoadLayerInput(const WeightLoader<B>& loader, const std::string& prefix) {
  const ModelConfig& config = loader.config();
  auto gate = loader.LoadLinear({{prefix + "inp_gate", config.layer_input}}, config.hidden);
  if (!gate) return Forward(gate);
  auto projection = loader.LoadLinear({{prefix + "proj", config.hidden}}, config.layer_input);
  if (!projection) return Forward(projection);
  auto norm = loader.LoadRmsNorm(prefix + "post_norm", config.hidden);
  if (!norm) return Forward(norm);
  return LayerInputWeights<B>{std::move(*gate), std::move(*projection), std::move(*norm)};
}

}  // namespace inferflux::model
