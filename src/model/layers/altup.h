// Alternating updates (AltUpConfig). The streams of the residual state are parts of its rows: [rows, streams * hidden].
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/optional_ops.h"
#include "model/layers/linear.h"
#include "model/layers/norm.h"
#include "model/loading/weight_loader.h"
#include "model/model_config.h"

namespace inferflux::model {

// Whether a backend has the operations that models with streams need.
template <compute::Backend B>
inline constexpr bool kHasAltUp = compute::StreamMixing<B>&& compute::SoftCaps<B>&& compute::TensorScales<B>;

// Of the model: makes the streams of the embedding, and one state of the last layer's streams.
template <compute::Backend B>
struct AltUpStreams {
  std::vector<Linear<B>> projections;       // hidden to hidden: the streams but the first
  std::vector<Linear<B>> back_projections;  // the same back
  std::vector<compute::Buffer<B>> places;   // [1, streams]: 1 for the stream, 0 for the others

  // x: [rows, hidden]. Every stream has x's magnitude.
  compute::Buffer<B> Split(typename B::Context& context, compute::View<B> x) const requires kHasAltUp<B> {
    auto streams = B::MixStreams(context, x, places[0], 1);
    for (size_t i = 0; i < projections.size(); ++i) {
      const auto stream = B::MatchMagnitudes(context, projections[i](context, x), x);
      streams = B::Add(context, streams, B::MixStreams(context, stream, places[i + 1], 1));
    }
    return streams;
  }

  // The mean of the streams, all of the first one's magnitude: [rows, hidden].
  compute::Buffer<B> Merge(typename B::Context& context, const ModelConfig& config,
                           compute::View<B> streams) const requires kHasAltUp<B> {
    const auto first = B::Columns(streams, 0, config.hidden);
    std::optional<compute::Buffer<B>> sum;
    for (size_t i = 0; i < back_projections.size(); ++i) {
      const int64_t column = static_cast<int64_t>(i + 1) * config.hidden;
      const auto projected = back_projections[i](context, B::Columns(streams, column, config.hidden));
      const auto stream = B::MatchMagnitudes(context, projected, first);
      sum = sum ? B::Add(context, *sum, stream) : B::Add(context, first, stream);
    }
    return B::Scale(context, *sum, 1.0f / static_cast<float>(config.altup->streams));
  }
};

template <compute::Backend B>
struct AltUpWeights {
  Norm<B> router_norm;
  Linear<B> router;                 // hidden to streams
  Linear<B> prediction;             // streams to streams * streams: which stream becomes how much of which
  Linear<B> correction;             // streams to streams: how much of the change each stream takes
  compute::Buffer<B> output_scale;  // [1, hidden], of the computed stream for the layer's inputs
  Linear<B> laurel_in, laurel_out;  // hidden to the rank, and back
  Norm<B> laurel_norm;
  compute::Buffer<B> identity;       // [1, streams * streams]
  compute::Buffer<B> ones;           // [1, streams]
  compute::Buffer<B> all_but_first;  // [1, streams]

  // What the coefficients are made of: [rows, streams].
  compute::Buffer<B> Route(typename B::Context& context, const ModelConfig& config,
                           compute::View<B> x) const requires kHasAltUp<B> {
    const auto inputs = B::Scale(context, router_norm(context, x), 1.0f / static_cast<float>(config.hidden));
    return B::SoftCap(context, router(context, inputs), 1.0f);  // tanh
  }

  // x and the result: [rows, streams * hidden].
  compute::Buffer<B> Predict(typename B::Context& context, const ModelConfig& config,
                             compute::View<B> x) const requires kHasAltUp<B> {
    const auto active = B::Columns(x, int64_t{config.hidden} * config.altup->active, config.hidden);
    const auto factors = B::AddBias(context, prediction(context, Route(context, config, active)), identity);
    return B::MixStreams(context, x, factors, config.altup->streams);
  }

  // computed: [rows, hidden], what has become of the active stream.
  compute::Buffer<B> Correct(typename B::Context& context, const ModelConfig& config, compute::View<B> predictions,
                             compute::View<B> computed) const requires kHasAltUp<B> {
    const auto active = B::Columns(predictions, int64_t{config.hidden} * config.altup->active, config.hidden);
    const auto change = B::Add(context, computed, B::Scale(context, active, -1.0f));
    const auto factors = B::AddBias(context, correction(context, Route(context, config, computed)), ones);
    return B::Add(context, predictions, B::MixStreams(context, change, factors, 1));
  }

  // x: [rows, hidden], the input of attention, to x and a product of low rank.
  compute::Buffer<B> Laurel(typename B::Context& context, compute::View<B> x) const {
    return B::Add(context, x, laurel_norm(context, laurel_out(context, laurel_in(context, x))));
  }
};

template <compute::Backend B>
Result<AltUpStreams<B>> LoadAltUpStreams(typename B::Context& context, const WeightLoader<B>& loader) {
  const ModelConfig& config = loader.config();
  const int32_t streams = config.altup->streams;
  auto projections = loader.LoadStack("altup_proj", streams - 1, config.hidden, config.hidden);
  if (!projections) return Forward(projections);
  auto back = loader.LoadStack("altup_unembd_proj", streams - 1, config.hidden, config.hidden);
  if (!back) return Forward(back);
  AltUpStreams<B> out{std::move(*projections), std::move(*back), {}};
  for (int32_t i = 0; i < streams; ++i) {
    std::vector<float> place(static_cast<size_t>(streams));
    place[static_cast<size_t>(i)] = 1.0f;
    out.places.push_back(B::LoadVector(context, place));
  }
  return out;
}

// `prefix`: "blk.0.".
template <compute::Backend B>
Result<AltUpWeights<B>> LoadAltUp(typename B::Context& context, const WeightLoader<B>& loader,
                                  const std::string& prefix) {
  const ModelConfig& config = loader.config();
  const int32_t streams = config.altup->streams, rank = config.altup->laurel_rank;
  auto router_norm = loader.LoadRmsNorm(prefix + "altup_router_norm", config.hidden);
  if (!router_norm) return Forward(router_norm);
  auto router = loader.LoadLinear({{prefix + "altup_router", streams}}, config.hidden);
  if (!router) return Forward(router);
  auto prediction = loader.LoadLinear({{prefix + "altup_predict_coef", int64_t{streams} * streams}}, streams);
  if (!prediction) return Forward(prediction);
  auto correction = loader.LoadLinear({{prefix + "altup_correct_coef", streams}}, streams);
  if (!correction) return Forward(correction);
  auto output_scale = loader.LoadVector(prefix + "altup_correct_scale.weight", config.hidden);
  if (!output_scale) return Forward(output_scale);
  auto laurel_in = loader.LoadLinear({{prefix + "laurel_l", rank}}, config.hidden);
  if (!laurel_in) return Forward(laurel_in);
  auto laurel_out = loader.LoadLinear({{prefix + "laurel_r", config.hidden}}, rank);
  if (!laurel_out) return Forward(laurel_out);
  auto laurel_norm = loader.LoadRmsNorm(prefix + "laurel_post_norm", config.hidden);
  if (!laurel_norm) return Forward(laurel_norm);
  std::vector<float> identity(static_cast<size_t>(streams) * streams), ones(static_cast<size_t>(streams), 1.0f);
  for (int32_t i = 0; i < streams; ++i) identity[static_cast<size_t>(i) * (streams + 1)] = 1.0f;
  std::vector<float> all_but_first = ones;
  all_but_first[0] = 0.0f;
  return AltUpWeights<B>{.router_norm = std::move(*router_norm),
                         .router = std::move(*router),
                         .prediction = std::move(*prediction),
                         .correction = std::move(*correction),
                         .output_scale = std::move(*output_scale),
                         .laurel_in = std::move(*laurel_in),
                         .laurel_out = std::move(*laurel_out),
                         .laurel_norm = std::move(*laurel_norm),
                         .identity = B::LoadVector(context, identity),
                         .ones = B::LoadVector(context, ones),
                         .all_but_first = B::LoadVector(context, all_but_first)};
}

}  // namespace inferflux::model
