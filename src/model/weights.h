// A model's weights on one device, loaded from GGUF's tensor names.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "model/linear.h"
#include "model/model_config.h"
#include "model/model_source.h"

namespace inferflux::model {

template <compute::Backend B>
struct LayerWeights {
  compute::Buffer<B> attention_norm;
  Linear<B> qkv;  // outputs: q [heads * head_dim], k and v [kv_heads * head_dim] each
  std::optional<compute::Buffer<B>> q_norm;
  std::optional<compute::Buffer<B>> k_norm;
  Linear<B> attention_out;
  compute::Buffer<B> feed_forward_norm;
  Linear<B> gate_up;  // outputs: gate, up [feed_forward] each
  Linear<B> down;
};

template <compute::Backend B>
struct ModelWeights {
  typename B::Table embedding;
  std::vector<LayerWeights<B>> layers;
  compute::Buffer<B> output_norm;
  Linear<B> output;  // the embedding itself where the file has no output tensor
};

// Loads tensors of one source onto one device.
template <compute::Backend B>
class WeightLoader {
 public:
  WeightLoader(typename B::Context& context, const ModelConfig& config, const ModelSource& source)
      : context_(context), config_(config), source_(source) {}

  Result<ModelWeights<B>> Load();

 private:
  struct Part {
    const char* name;
    int64_t outputs;
  };

  Result<LayerWeights<B>> LoadLayer(int32_t layer);
  Result<compute::Buffer<B>> LoadNorm(const std::string& name, int64_t size);
  Result<std::optional<compute::Buffer<B>>> LoadHeadNorm(const std::string& name);
  Result<Linear<B>> LoadLinear(const std::string& prefix, std::initializer_list<Part> parts, int64_t inputs, bool bias);

  typename B::Context& context_;
  const ModelConfig& config_;
  const ModelSource& source_;
};

template <compute::Backend B>
Result<compute::Buffer<B>> WeightLoader<B>::LoadNorm(const std::string& name, int64_t size) {
  auto values = source_.Vector(name, size);
  if (!values) return Forward(values);
  return B::LoadVector(context_, *values);
}

template <compute::Backend B>
Result<std::optional<compute::Buffer<B>>> WeightLoader<B>::LoadHeadNorm(const std::string& name) {
  if (!config_.qk_norm) return std::optional<compute::Buffer<B>>();
  auto norm = LoadNorm(name, config_.head_dim);
  if (!norm) return Forward(norm);
  return std::optional<compute::Buffer<B>>(std::move(*norm));
}

template <compute::Backend B>
Result<Linear<B>> WeightLoader<B>::LoadLinear(const std::string& prefix, std::initializer_list<Part> parts,
                                              int64_t inputs, bool bias) {
  std::vector<compute::HostMatrix> matrices;
  std::vector<float> biases;
  for (const Part& part : parts) {
    auto matrix = source_.Matrix(prefix + part.name + ".weight", part.outputs, inputs);
    if (!matrix) return Forward(matrix);
    matrices.push_back(std::move(*matrix));
    if (!bias) continue;
    auto values = source_.Vector(prefix + part.name + ".bias", part.outputs);
    if (!values) return Forward(values);
    biases.insert(biases.end(), values->begin(), values->end());
  }
  return Linear<B>::Load(context_, matrices, biases);
}

template <compute::Backend B>
Result<LayerWeights<B>> WeightLoader<B>::LoadLayer(int32_t layer) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  const int64_t q = int64_t{config_.heads} * config_.head_dim;
  const int64_t kv = int64_t{config_.kv_heads} * config_.head_dim;

  auto attention_norm = LoadNorm(prefix + "attn_norm.weight", config_.hidden);
  if (!attention_norm) return Forward(attention_norm);
  auto qkv = LoadLinear(prefix, {{"attn_q", q}, {"attn_k", kv}, {"attn_v", kv}}, config_.hidden, config_.qkv_bias);
  if (!qkv) return Forward(qkv);
  auto q_norm = LoadHeadNorm(prefix + "attn_q_norm.weight");
  if (!q_norm) return Forward(q_norm);
  auto k_norm = LoadHeadNorm(prefix + "attn_k_norm.weight");
  if (!k_norm) return Forward(k_norm);
  auto attention_out = LoadLinear(prefix, {{"attn_output", config_.hidden}}, q, false);
  if (!attention_out) return Forward(attention_out);
  auto feed_forward_norm = LoadNorm(prefix + "ffn_norm.weight", config_.hidden);
  if (!feed_forward_norm) return Forward(feed_forward_norm);
  auto gate_up = LoadLinear(prefix, {{"ffn_gate", config_.feed_forward}, {"ffn_up", config_.feed_forward}},
                            config_.hidden, false);
  if (!gate_up) return Forward(gate_up);
  auto down = LoadLinear(prefix, {{"ffn_down", config_.hidden}}, config_.feed_forward, false);
  if (!down) return Forward(down);

  return LayerWeights<B>{std::move(*attention_norm), std::move(*qkv),           std::move(*q_norm),
                         std::move(*k_norm),         std::move(*attention_out), std::move(*feed_forward_norm),
                         std::move(*gate_up),        std::move(*down)};
}

template <compute::Backend B>
Result<ModelWeights<B>> WeightLoader<B>::Load() {
  auto table = source_.Matrix("token_embd.weight", config_.vocab_size, config_.hidden);
  if (!table) return Forward(table);
  auto embedding = B::LoadTable(context_, *table);
  if (!embedding) return Forward(embedding);

  std::vector<LayerWeights<B>> layers;
  for (int32_t i = 0; i < config_.layers; ++i) {
    auto layer = LoadLayer(i);
    if (!layer) return Forward(layer);
    layers.push_back(std::move(*layer));
  }

  auto output_norm = LoadNorm("output_norm.weight", config_.hidden);
  if (!output_norm) return Forward(output_norm);
  const char* output_name = source_.Find("output.weight") != nullptr ? "output" : "token_embd";
  auto output = LoadLinear("", {{output_name, config_.vocab_size}}, config_.hidden, false);
  if (!output) return Forward(output);
  return ModelWeights<B>{std::move(*embedding), std::move(layers), std::move(*output_norm), std::move(*output)};
}

}  // namespace inferflux::model
