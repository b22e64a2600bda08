// A mixture of experts (MoE) as the feed-forward network: a router sends each row to a few experts, and all rows to a
// shared expert if the model has one.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/layers/feed_forward.h"

namespace inferflux::model {

template <compute::Backend B>
requires compute::MoeRouting<B>
class MoeFeedForward final : public FeedForward<B> {
 public:
  static Result<MoeFeedForward> Load(const WeightLoader<B>& loader, const std::string& prefix);

  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const override;

  std::vector<std::string> Describe() const override {
    return {"router: " + router_.Describe(), "gate_up: " + gate_up_.Describe(), "down: " + down_.Describe()};
  }

 private:
  struct SharedExpert {
    GatedFeedForward<B> network;
    std::optional<Linear<B>> gate;  // one output: the logit of the shared expert's weight for a row
  };

  MoeFeedForward(const ModelConfig& config, Linear<B> router, ExpertLinear<B> gate_up, ExpertLinear<B> down)
      : config_(config.moe),
        activation_(config.activation),
        router_(std::move(router)),
        gate_up_(std::move(gate_up)),
        down_(std::move(down)) {}

  MoeConfig config_;
  compute::Activation activation_;
  Linear<B> router_;
  std::optional<compute::Buffer<B>> biases_;  // [1, experts], of the choice
  ExpertLinear<B> gate_up_;
  ExpertLinear<B> down_;
  std::optional<SharedExpert> shared_;
};

template <compute::Backend B>
requires compute::MoeRouting<B> Result<MoeFeedForward<B>> MoeFeedForward<B>::Load(const WeightLoader<B>& loader,
                                                                                  const std::string& prefix) {
  const ModelConfig& config = loader.config();
  const MoeConfig& moe = config.moe;
  auto router = loader.LoadLinear({{prefix + "ffn_gate_inp", moe.experts}}, config.hidden);
  if (!router) return Forward(router);
  auto gate_up =
      loader.LoadExperts({{prefix + "ffn_gate_exps", moe.feed_forward}, {prefix + "ffn_up_exps", moe.feed_forward}},
                         moe.experts, config.hidden);
  if (!gate_up) return Forward(gate_up);
  auto down = loader.LoadExperts({{prefix + "ffn_down_exps", config.hidden}}, moe.experts, moe.feed_forward);
  if (!down) return Forward(down);
  MoeFeedForward out(config, std::move(*router), std::move(*gate_up), std::move(*down));

  if (moe.shared_feed_forward > 0) {
    auto network = GatedFeedForward<B>::Load(loader, prefix, "_shexp", moe.shared_feed_forward);
    if (!network) return Forward(network);
    out.shared_ = SharedExpert{std::move(*network), {}};
  }
  if (out.shared_ && moe.shared_gate) {
    auto gate = loader.LoadLinear({{prefix + "ffn_gate_inp_shexp", 1}}, config.hidden);
    if (!gate) return Forward(gate);
    out.shared_->gate = std::move(*gate);
  }
  if (const std::string biases = prefix + "exp_probs_b.bias"; loader.Contains(biases)) {
    auto loaded = loader.LoadVector(biases, moe.experts);
    if (!loaded) return Forward(loaded);
    out.biases_ = std::move(*loaded);
  }
  return out;
}

template <compute::Backend B>
requires compute::MoeRouting<B> compute::Buffer<B> MoeFeedForward<B>::operator()(typename B::Context& context,
                                                                                 compute::View<B> x) const {
  const std::optional<compute::View<B>> biases = biases_ ? std::optional<compute::View<B>>(*biases_) : std::nullopt;
  const auto routing = B::Route(context, router_(context, x), config_.routing, biases ? &*biases : nullptr);
  const auto gate_up = gate_up_(context, x, routing);
  const auto gated = B::Gate(context, B::Columns(gate_up, 0, config_.feed_forward),
                             B::Columns(gate_up, config_.feed_forward, config_.feed_forward), activation_);
  auto y = B::Combine(context, down_(context, gated, routing), routing);
  if (!shared_) return y;
  auto shared = shared_->network(context, x);
  if (shared_->gate) shared = B::GateRows(context, shared, (*shared_->gate)(context, x));
  return B::Add(context, y, shared);
}

}  // namespace inferflux::model
