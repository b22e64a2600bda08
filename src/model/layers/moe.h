// A mixture of experts (MoE) as the feed-forward network: a router sends each row to a few experts, and all rows to a
// shared expert if the model has one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/layers/feed_forward.h"

namespace inferflux::model {

template <compute::Backend B>
requires compute::MoeRouting<B> && compute::Activations<B>
class MoeFeedForward final : public FeedForward<B> {
 public:
  static Result<MoeFeedForward> Load(const WeightLoader<B>& loader, const std::string& prefix);

  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const override {
    return (*this)(context, x, Route(context, x));
  }
  // The same in two steps, for a router that sees other rows than the experts do.
  typename B::Routing Route(typename B::Context& context, compute::View<B> x) const;
  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x,
                                const typename B::Routing& routing) const;

  std::vector<std::string> Describe() const override {
    return {"router: " + router_.Describe(), (gated_ ? "gate_up: " : "up: ") + gate_up_.Describe(),
            "down: " + down_.Describe()};
  }

 private:
  struct SharedExpert {
    std::unique_ptr<FeedForward<B>> network;
    std::optional<Linear<B>> gate;  // one output: the logit of the shared expert's weight for a row
  };
  // Around the experts: from the state to their width and back.
  struct Projections {
    Linear<B> in, out;
  };

  static Status LoadShared(const WeightLoader<B>& loader, const std::string& prefix, MoeFeedForward* out);
  static Status LoadProjections(const WeightLoader<B>& loader, const std::string& prefix, MoeFeedForward* out);
  compute::Buffer<B> Experts(typename B::Context& context, compute::View<B> x,
                             const typename B::Routing& routing) const;
  // The experts' results before they are weighted and summed.
  compute::Buffer<B> Lines(typename B::Context& context, compute::View<B> x, const typename B::Routing& routing) const;

  MoeFeedForward(const ModelConfig& config, Linear<B> router, ExpertLinear<B> gate_up, ExpertLinear<B> down)
      : config_(config.moe),
        activation_(config.activation),
        gated_(config.gated),
        router_(std::move(router)),
        gate_up_(std::move(gate_up)),
        down_(std::move(down)) {}

  MoeConfig config_;
  compute::Activation activation_;
  bool gated_;
  Linear<B> router_;
  std::optional<compute::Buffer<B>> biases_;  // [1, experts], of the choice
  std::optional<Projections> projections_;
  ExpertLinear<B> gate_up_;  // or up alone
  ExpertLinear<B> down_;
  std::optional<SharedExpert> shared_;
};

template <compute::Backend B>
requires compute::MoeRouting<B> && compute::Activations<B> Result<MoeFeedForward<B>> MoeFeedForward<B>::Load(
    const WeightLoader<B>& loader, const std::string& prefix) {
  const ModelConfig& config = loader.config();
  const MoeConfig& moe = config.moe;
  // Beside an ordinary network, its scale belongs to the norm before it.
  auto router = moe.beside_dense ? loader.LoadPlainLinear(prefix + "ffn_gate_inp", moe.experts, config.hidden)
                                 : loader.LoadLinear({{prefix + "ffn_gate_inp", moe.experts}}, config.hidden);
  if (!router) return Forward(router);
  const int32_t width = moe.width > 0 ? moe.width : config.hidden;
  std::vector<WeightPart> parts{{prefix + "ffn_gate_exps", moe.feed_forward},
                                {prefix + "ffn_up_exps", moe.feed_forward}};
  if (!config.gated) parts.erase(parts.begin());
  if (loader.Contains(prefix + "ffn_gate_up_exps.weight"))
    parts = {{prefix + "ffn_gate_up_exps", 2 * int64_t{moe.feed_forward}}};
  auto gate_up = loader.LoadExperts(parts, moe.experts, width);
  if (!gate_up) return Forward(gate_up);
  auto down = loader.LoadExperts({{prefix + "ffn_down_exps", width}}, moe.experts, moe.feed_forward);
  if (!down) return Forward(down);
  MoeFeedForward out(config, std::move(*router), std::move(*gate_up), std::move(*down));
  if (moe.width > 0) {
    if (auto loaded = LoadProjections(loader, prefix, &out); !loaded) return Forward(loaded);
  }
  if (moe.shared_feed_forward > 0) {
    if (auto loaded = LoadShared(loader, prefix, &out); !loaded) return Forward(loaded);
  }
  if (const std::string biases = prefix + "exp_probs_b.bias"; loader.Contains(biases)) {
    auto loaded = loader.LoadVector(biases, moe.experts);
    if (!loaded) return Forward(loaded);
    out.biases_ = std::move(*loaded);
  }
  return out;
}

template <compute::Backend B>
requires compute::MoeRouting<B> && compute::Activations<B> Status
MoeFeedForward<B>::LoadShared(const WeightLoader<B>& loader, const std::string& prefix, MoeFeedForward* out) {
  const MoeConfig& moe = loader.config().moe;
  auto network = LoadNetwork<B>(loader, prefix, "_shexp", moe.shared_feed_forward);
  if (!network) return Forward(network);
  out->shared_ = SharedExpert{std::move(*network), {}};
  if (!moe.shared_gate) return {};
  auto gate = loader.LoadLinear({{prefix + "ffn_gate_inp_shexp", 1}}, loader.config().hidden);
  if (!gate) return Forward(gate);
  out->shared_->gate = std::move(*gate);
  return {};
}

template <compute::Backend B>
requires compute::MoeRouting<B> && compute::Activations<B> Status
MoeFeedForward<B>::LoadProjections(const WeightLoader<B>& loader, const std::string& prefix, MoeFeedForward* out) {
  const ModelConfig& config = loader.config();
  auto in = loader.LoadLinear({{prefix + "ffn_latent_down", config.moe.width}}, config.hidden);
  if (!in) return Forward(in);
  auto back = loader.LoadLinear({{prefix + "ffn_latent_up", config.hidden}}, config.moe.width);
  if (!back) return Forward(back);
  out->projections_ = Projections{std::move(*in), std::move(*back)};
  return {};
}

template <compute::Backend B>
requires compute::MoeRouting<B> && compute::Activations<B> compute::Buffer<B> MoeFeedForward<B>::Experts(
    typename B::Context& context, compute::View<B> x, const typename B::Routing& routing)
const {
  if (config_.weighs_inputs) {  // a sum of one line is the line times its weight
    return Lines(context, B::Combine(context, x, routing), routing);
  }
  return B::Combine(context, Lines(context, x, routing), routing);
}

template <compute::Backend B>
requires compute::MoeRouting<B> && compute::Activations<B> compute::Buffer<B> MoeFeedForward<B>::Lines(
    typename B::Context& context, compute::View<B> x, const typename B::Routing& routing)
const {
  const auto up = gate_up_(context, x, routing);
  if (gated_) {
    const auto gated = B::Gate(context, B::Columns(up, 0, config_.feed_forward),
                               B::Columns(up, config_.feed_forward, config_.feed_forward), activation_);
    return down_(context, gated, routing);
  }
  return down_(context, B::Activate(context, up, activation_), routing);
}

template <compute::Backend B>
requires compute::MoeRouting<B> && compute::Activations<B>
typename B::Routing MoeFeedForward<B>::Route(typename B::Context& context, compute::View<B> x) const {
  const std::optional<compute::View<B>> biases = biases_ ? std::optional<compute::View<B>>(*biases_) : std::nullopt;
  return B::Route(context, router_(context, x), config_.routing, biases ? &*biases : nullptr);
}

template <compute::Backend B>
requires compute::MoeRouting<B> && compute::Activations<B> compute::Buffer<B> MoeFeedForward<B>::operator()(
    typename B::Context& context, compute::View<B> x, const typename B::Routing& routing) const {
  auto y = projections_ ? projections_->out(context, Experts(context, projections_->in(context, x), routing))
                        : Experts(context, x, routing);
  if (!shared_) return y;
  auto shared = (*shared_->network)(context, x);
  if (shared_->gate) shared = B::GateRows(context, shared, (*shared_->gate)(context, x));
  return B::Add(context, y, shared);
}

}  // namespace inferflux::model
