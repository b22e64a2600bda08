// A model loaded on one device context: weights, KV, and the forward pass of a step.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/device_features.h"
#include "model/layers/kept_rows.h"
#include "model/layers/layer_forward.h"
#include "model/loading/model_source.h"
#include "model/loading/weights.h"
#include "model/model_config.h"
#include "model/shard.h"

namespace inferflux::model {

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv>
class ModelRunner {
 public:
  // Loads the weights and allocates an empty KV cache of `blocks` blocks of `block_size` tokens, and `states` recurrent
  // states if the model has them. `context` must outlive the runner. The runner keeps `source`, because a backend may
  // read mapped weights. `stop` cancels the load between layers. `config` is that of the shard; the ranks of a shared
  // model make the same calls of Step and Logits in the same order.
  static Result<ModelRunner> Load(typename B::Context& context, ModelConfig config,
                                  std::shared_ptr<const ModelSource> source, int32_t blocks, int32_t block_size,
                                  const std::stop_token& stop = {}, int32_t states = 1, const Shard& shard = {}) {
    if (shard.parallelism.ranks() > 1 && !compute::RankCollectives<B>) {
      return MissingConcept<B>(config, "RankCollectives");
    }
    if (IsRecurrent(config) && !compute::RecurrentStates<B>) return MissingConcept<B>(config, "RecurrentStates");
    if (config.attention_sinks && !compute::AttentionSinks<B, Kv>) return MissingConcept<B>(config, "AttentionSinks");
    if (config.distance_biases && !compute::AttentionBiases<B, Kv>) return MissingConcept<B>(config, "AttentionBiases");
    if (config.query_growth && !compute::MoeRouting<B>) return MissingConcept<B>(config, "MoeRouting");
    if (config.altup && !kHasAltUp<B>) return MissingConcept<B>(config, "StreamMixing");
    const auto cuts = [](const LayerKind& kind) { return kind.gate_cut.has_value(); };
    if (std::ranges::any_of(config.layer_kinds, cuts) && !compute::ActivationSparsity<B>)
      return MissingConcept<B>(config, "ActivationSparsity");
    if (config.logit_softcap != 0.0f && !compute::SoftCaps<B>) return MissingConcept<B>(config, "SoftCaps");
    if (config.latent && !(kHasLatents<B> && compute::SparseKv<B, Kv>)) return MissingConcept<B>(config, "LatentKv");
    auto weights = LoadWeights<B>(context, config, *source, shard, stop);
    if (!weights) return Forward(weights);
    auto cache = B::template CreateKvCache<Kv>(
        context, {.layers = KvLayers(config), .blocks = blocks, .block_size = block_size});
    if (!cache) return Forward(cache);
    ModelRunner runner(context, std::move(config), shard, std::move(source), std::move(*weights), std::move(*cache));
    if constexpr (compute::RecurrentStates<B>) {
      if (IsRecurrent(runner.config_)) {
        auto made = B::CreateStates(context, {.layers = StateLayers(runner.config_), .slots = states});
        if (!made) return Forward(made);
        runner.states_ = std::move(*made);
      }
    }
    return runner;
  }

  // Runs the step's tokens through all layers, stores their KV, and returns the hidden states of the requested rows,
  // ready for Logits: [output_rows.size(), hidden]. The geometry must be valid: ids, positions and blocks in range, and
  // an encoder's sequences complete. `token_types`: [rows], 1 in the second text of a pair; empty: all 0. Only models
  // with token types read them.
  compute::Buffer<B> Step(const compute::StepGeometry& geometry, std::span<const int32_t> output_rows,
                          std::span<const int32_t> token_types = {});

  // A step of which every row is an output, in parts, so that the second can be recorded (compute::GraphCapture): its
  // arrays on the device, and its logits. Same results as Step and Logits. Only without other ranks.
  StepInputs<B> LoadDecode(const compute::StepGeometry& geometry) { return Load(geometry); }
  void ReloadDecode(const compute::StepGeometry& geometry, StepInputs<B>& step) requires compute::GraphCapture<B> {
    B::Reload(*context_, step.batch, geometry);
    if (step.places) B::Reload(*context_, *step.places, PlacesOf(geometry));
  }
  compute::Buffer<B> DecodeLogits(const compute::StepGeometry& geometry, StepInputs<B>& step);

  // hidden: [rows, hidden] to next-token logits, [rows, vocab_size]. Requires a causal model.
  compute::Buffer<B> Logits(compute::View<B> hidden);

  // What the model's head makes of a pooled state.
  std::vector<float> ApplyHead(std::span<const float> pooled);

  compute::Buffer<B> GatherRows(compute::View<B> x, std::span<const int32_t> rows) {
    return B::GatherRows(*context_, x, rows);
  }

  void CopyBlock(int32_t from, int32_t to) { B::template CopyBlock<Kv>(*context_, cache_, from, to); }
  std::vector<float> Read(compute::View<B> x) { return B::Read(*context_, x); }

  typename B::template KvCache<Kv>& cache() { return cache_; }
  States<B>& states() { return states_; }
  const ModelConfig& config() const { return config_; }  // of this rank's part
  bool has_output() const { return weights_.output.has_value(); }

  // One line per matmul: its kernel.
  std::vector<std::string> Plan() const;

 private:
  // The step with positions for tokens: looks up a position's row like a token's.
  static compute::StepGeometry PlacesOf(compute::StepGeometry geometry) {
    geometry.tokens.assign(geometry.positions.begin(), geometry.positions.end());
    return geometry;
  }
  StepInputs<B> Load(const compute::StepGeometry& geometry);
  void Derive(StepInputs<B>& step);  // what is computed of it
  RowsWithNorm<B> Layers(const compute::StepGeometry& geometry, std::span<const int32_t> token_types,
                         StepInputs<B>& step, KeptInputs<B>* kept, const Norm<B>* last_norm);
  compute::Buffer<B> Embed(const compute::StepGeometry& geometry, std::span<const int32_t> token_types,
                           const StepInputs<B>& step);
  compute::Buffer<B> First(const compute::StepGeometry& geometry, std::span<const int32_t> token_types,
                           const StepInputs<B>& step);
  // The last layer's output as the head takes it: one stream, and the norm.
  compute::Buffer<B> Final(compute::Buffer<B> x) const {
    if constexpr (kHasAltUp<B>) {
      if (weights_.streams) x = weights_.streams->Merge(*context_, config_, x);
    }
    return weights_.output_norm ? (*weights_.output_norm)(*context_, x) : std::move(x);
  }
  compute::Buffer<B> Last(compute::Buffer<B> x, size_t outputs);

  ModelRunner(typename B::Context& context, ModelConfig config, const Shard& shard,
              std::shared_ptr<const ModelSource> source, ModelWeights<B> weights,
              typename B::template KvCache<Kv> cache)
      : context_(&context),
        config_(std::move(config)),
        shard_(shard),
        source_(std::move(source)),
        weights_(std::move(weights)),
        cache_(std::move(cache)) {}

  typename B::Context* context_;
  ModelConfig config_;
  Shard shard_;
  std::shared_ptr<const ModelSource> source_;
  ModelWeights<B> weights_;
  typename B::template KvCache<Kv> cache_;
  States<B> states_;
};

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> compute::Buffer<B> ModelRunner<B, Kv>::Step(const compute::StepGeometry& geometry,
                                                                             std::span<const int32_t> output_rows,
                                                                             std::span<const int32_t> token_types) {
  StepInputs<B> step = Load(geometry);
  Derive(step);
  const KeptRows kept = KeepRows(geometry, output_rows);
  // An encoder's rows attend to one another, so all of them continue to the end.
  // Nor do they leave the selection of a layer before.
  const bool shares_selection = config_.indexer && !config_.layer_kinds.back().selects;
  const bool narrows = config_.causal && !shares_selection && kept.rows.size() < geometry.tokens.size();
  KeptInputs<B> kept_inputs{.rows = kept.rows, .step = {}};
  if (narrows && !kept.rows.empty()) {
    kept_inputs.step = Load(kept.geometry);
    Derive(*kept_inputs.step);
  }
  auto x = Layers(geometry, token_types, step, narrows ? &kept_inputs : nullptr, nullptr).values;
  if (shard_.last_stage()) {
    x = B::GatherRows(*context_, x, narrows ? std::span<const int32_t>(kept.output_row) : output_rows);
    x = Final(std::move(x));
  }
  return Last(std::move(x), output_rows.size());
}

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> compute::Buffer<B> ModelRunner<B, Kv>::DecodeLogits(
    const compute::StepGeometry& geometry, StepInputs<B>& step) {
  struct OfThisRun {  // may end before its end
    StepInputs<B>& step;
    ~OfThisRun() {
      step.rope_angles.clear();
      step.growth.reset();
      step.layer_inputs.reset();
    }
  };
  const OfThisRun derived{step};
  Derive(step);
  auto x = Layers(geometry, {}, step, nullptr, PointerTo(weights_.output_norm));
  return Logits(x.normed ? *std::move(x.normed) : Final(std::move(x.values)));
}

// `kept`: the rows that continue after the last layer's keys and values are written; null: all. `last_norm`: the norm
// that follows, or null.
template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> RowsWithNorm<B> ModelRunner<B, Kv>::Layers(const compute::StepGeometry& geometry,
                                                                            std::span<const int32_t> token_types,
                                                                            StepInputs<B>& step, KeptInputs<B>* kept,
                                                                            const Norm<B>* last_norm) {
  std::optional<Selection<B>> selection;
  RowsWithNorm<B> x{First(geometry, token_types, step), std::nullopt};
  if (weights_.layer_inputs) {
    step.layer_inputs = (*weights_.layer_inputs)(*context_, config_, x.values, step.batch);
    if (kept != nullptr && kept->step) {
      kept->step->layer_inputs = B::GatherRows(*context_, *step.layer_inputs, kept->rows);
    }
  }
  if constexpr (kHasAltUp<B>) {
    if (weights_.streams) x.values = weights_.streams->Split(*context_, x.values);
  }
  for (int32_t i = 0; i < config_.layers; ++i) {
    const bool last = i + 1 == config_.layers;
    const Norm<B>* next = last ? last_norm : PointerTo(weights_.layers[i + 1].attention_norms.input);
    x = LayerForward<B, Kv>(*context_, config_, weights_.layers[i], x, step, cache_, states_, i,
                            last && shard_.last_stage() ? kept : nullptr, selection, next);
  }
  return x;
}

// The input of this rank's first layer.
template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> compute::Buffer<B> ModelRunner<B, Kv>::First(const compute::StepGeometry& geometry,
                                                                              std::span<const int32_t> token_types,
                                                                              const StepInputs<B>& step) {
  if constexpr (compute::RankCollectives<B>) {
    if (!shard_.first_stage()) {
      return B::ReceiveRows(*context_, geometry.rows(), config_.hidden, shard_.rank - 1);
    }
  }
  return Embed(geometry, token_types, step);
}

// What the step returns, for the output of this rank's last layer. On the last rank of a pipeline that is of the
// requested rows, which rank 0 gets; what the others return has no meaning.
template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> compute::Buffer<B> ModelRunner<B, Kv>::Last(compute::Buffer<B> x, size_t outputs) {
  if constexpr (compute::RankCollectives<B>) {
    const int32_t stages = shard_.parallelism.pipeline;
    if (stages > 1) {
      B::SendRows(*context_, x, shard_.last_stage() ? 0 : shard_.rank + 1);
      if (shard_.rank == 0) {
        return B::ReceiveRows(*context_, static_cast<int64_t>(outputs), config_.hidden, stages - 1);
      }
    }
  }
  return x;
}

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> StepInputs<B> ModelRunner<B, Kv>::Load(const compute::StepGeometry& geometry) {
  StepInputs<B> step{.batch = B::LoadBatch(*context_, geometry)};
  if (weights_.query_growth || weights_.positions) {
    step.places.emplace(B::LoadBatch(*context_, PlacesOf(geometry)));
  }
  return step;
}

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv>
void ModelRunner<B, Kv>::Derive(StepInputs<B>& step) {
  if (weights_.query_growth) step.growth = B::Embed(*context_, *weights_.query_growth, *step.places);
  if (weights_.distance_biases) step.distance_biases = &*weights_.distance_biases;
  for (const compute::RopeSpec& rope : config_.ropes) {
    step.rope_angles.push_back(B::RopeAngles(*context_, step.batch, rope));
  }
}

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> compute::Buffer<B> ModelRunner<B, Kv>::Embed(const compute::StepGeometry& geometry,
                                                                              std::span<const int32_t> token_types,
                                                                              const StepInputs<B>& step) {
  auto x = B::Embed(*context_, weights_.embedding, step.batch);
  if (config_.embedding_scale != 1.0f) x = B::Scale(*context_, x, config_.embedding_scale);
  if (weights_.positions) x = B::Add(*context_, x, B::Embed(*context_, *weights_.positions, *step.places));
  if (weights_.token_types && !token_types.empty()) {
    compute::StepGeometry types = geometry;
    types.tokens.assign(token_types.begin(), token_types.end());
    x = B::Add(*context_, x, B::Embed(*context_, *weights_.token_types, B::LoadBatch(*context_, types)));
  } else if (weights_.token_type) {
    x = B::AddBias(*context_, x, *weights_.token_type);
  }
  if (weights_.embedding_norm) x = (*weights_.embedding_norm)(*context_, x);
  return x;
}

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> compute::Buffer<B> ModelRunner<B, Kv>::Logits(compute::View<B> hidden) {
  auto logits = (*weights_.output)(*context_, hidden);
  if (config_.logit_scale != 1.0f) logits = B::Scale(*context_, logits, config_.logit_scale);
  if constexpr (compute::SoftCaps<B>) {
    if (config_.logit_softcap != 0.0f) logits = B::SoftCap(*context_, logits, config_.logit_softcap);
  }
  return logits;
}

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> std::vector<float> ModelRunner<B, Kv>::ApplyHead(std::span<const float> pooled) {
  auto x = B::LoadVector(*context_, pooled);
  for (const HeadLayerWeights<B>& layer : weights_.head) x = layer(*context_, x);
  return B::Read(*context_, x);
}

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> std::vector<std::string> ModelRunner<B, Kv>::Plan()
const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    const auto& layer = weights_.layers[i];
    const std::string prefix = "layer " + std::to_string(i) + " ";
    if (layer.attention) {
      lines.push_back(prefix + "qkv: " + layer.attention->qkv.Describe());
      lines.push_back(prefix + "attention_out: " + layer.attention->output.Describe());
    }
    if constexpr (kHasLatents<B>) {
      if (layer.latents) {
        lines.push_back(prefix + "q: " + layer.latents->q.Describe());
        lines.push_back(prefix + "kv_latent: " + layer.latents->kv.Describe());
        lines.push_back(prefix + "keys: " + layer.latents->keys.Describe());
        lines.push_back(prefix + "values: " + layer.latents->values.Describe());
        lines.push_back(prefix + "attention_out: " + layer.latents->output.Describe());
      }
    }
    if (layer.conv) {
      lines.push_back(prefix + "conv_in: " + layer.conv->input.Describe());
      lines.push_back(prefix + "conv_out: " + layer.conv->output.Describe());
    }
    if (layer.delta_net) {
      lines.push_back(prefix + "delta_in: " + layer.delta_net->input.Describe());
      lines.push_back(prefix + "delta_out: " + layer.delta_net->output.Describe());
    }
    if (layer.state_space) {
      lines.push_back(prefix + "scan_in: " + layer.state_space->input.Describe());
      lines.push_back(prefix + "scan_out: " + layer.state_space->output.Describe());
    }
    if (layer.feed_forward == nullptr) continue;
    for (const std::string& line : layer.feed_forward->Describe()) lines.push_back(prefix + line);
  }
  if (weights_.output) lines.push_back("output: " + weights_.output->Describe());
  for (const HeadLayerWeights<B>& layer : weights_.head) lines.push_back("head: " + layer.linear.Describe());
  return lines;
}

}  // namespace inferflux::model
