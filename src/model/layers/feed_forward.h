// The feed-forward network of a decoder layer: gated, plain, or a mixture of experts (MoE, moe.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/optional_ops.h"
#include "model/layers/activation.h"
#include "model/layers/linear.h"
#include "model/layers/xielu.h"
#include "model/loading/missing_concept.h"
#include "model/loading/weight_loader.h"
#include "model/model_config.h"

namespace inferflux::model {

template <compute::Backend B>
class FeedForward {
 public:
  virtual ~FeedForward() = default;

  // x: [rows, hidden] to [rows, hidden].
  virtual compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const = 0;

  // One line per matmul: its name and its kernel.
  virtual std::vector<std::string> Describe() const = 0;
};

// down(act(gate(x)) * up(x)), as in GLU variants (arXiv:2002.05202).
template <compute::Backend B>
class GatedFeedForward final : public FeedForward<B> {
 public:
  // The tensors are `prefix`ffn_gate`suffix` and so on. If there is no gate tensor, one ffn_up of twice the width holds
  // gate and up. `width`: of the hidden layer. `cut`: LayerKind::gate_cut.
  static Result<GatedFeedForward> Load(const WeightLoader<B>& loader, const std::string& prefix,
                                       const std::string& suffix, Run width, const std::optional<float>& cut) {
    const ModelConfig& config = loader.config();
    const std::string gate = prefix + "ffn_gate" + suffix, up = prefix + "ffn_up" + suffix;
    std::vector<WeightPart> parts{{gate, width}, {up, width}};
    if (!loader.Contains(gate + ".weight") && loader.Contains(up + ".weight")) parts = {{up, 2 * width.count}};
    auto gate_up = loader.LoadLinear(parts, config.hidden);
    if (!gate_up) return Forward(gate_up);
    auto down = loader.LoadLinear({{prefix + "ffn_down" + suffix, config.hidden}}, width);
    if (!down) return Forward(down);
    GatedFeedForward out(std::move(*gate_up), std::move(*down), width.count, config.activation);
    out.cut_ = cut;
    return out;
  }

  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const override {
    const auto gate_up = gate_up_(context, x);
    Value<B> gate = B::Columns(gate_up, 0, width_);
    if constexpr (compute::ActivationSparsity<B>) {
      if (cut_) gate = B::CutRows(context, gate, *cut_);
    }
    return down_.OfGate(context, gate, B::Columns(gate_up, width_, width_), activation_);
  }

  std::vector<std::string> Describe() const override {
    return {"gate_up: " + gate_up_.Describe(), "down: " + down_.Describe()};
  }

 private:
  GatedFeedForward(Linear<B> gate_up, Linear<B> down, int64_t width, compute::Activation activation)
      : gate_up_(std::move(gate_up)), down_(std::move(down)), width_(width), activation_(activation) {}

  Linear<B> gate_up_;  // outputs: gate, up [width] each
  Linear<B> down_;
  int64_t width_;
  compute::Activation activation_;
  std::optional<float> cut_;
};

// down(act(up(x))), as in the original transformer.
template <compute::Backend B>
requires compute::Activations<B>
class PlainFeedForward final : public FeedForward<B> {
 public:
  // As above. `xielu`: in place of the model's activation.
  static Result<PlainFeedForward> Load(const WeightLoader<B>& loader, const std::string& prefix,
                                       const std::string& suffix, Run width, const std::optional<Xielu>& xielu) {
    const ModelConfig& config = loader.config();
    auto up = loader.LoadLinear({{prefix + "ffn_up" + suffix, width}}, config.hidden);
    if (!up) return Forward(up);
    auto down = loader.LoadLinear({{prefix + "ffn_down" + suffix, config.hidden}}, width);
    if (!down) return Forward(down);
    PlainFeedForward out(std::move(*up), std::move(*down), config.activation);
    out.xielu_ = xielu;
    return out;
  }

  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const override {
    if (xielu_) return down_(context, ApplyXielu<B>(context, up_(context, x), *xielu_));
    return down_(context, B::Activate(context, up_(context, x), activation_));
  }

  std::vector<std::string> Describe() const override { return {"up: " + up_.Describe(), "down: " + down_.Describe()}; }

 private:
  PlainFeedForward(Linear<B> up, Linear<B> down, compute::Activation activation)
      : up_(std::move(up)), down_(std::move(down)), activation_(activation) {}

  Linear<B> up_;
  Linear<B> down_;
  compute::Activation activation_;
  std::optional<Xielu> xielu_;
};

template <class Network, compute::Backend B>
Result<std::unique_ptr<FeedForward<B>>> Own(Result<Network> network) {
  if (!network) return Forward(network);
  return std::make_unique<Network>(std::move(*network));
}

// A network of the model's kind, with what its layer has of its own.
template <compute::Backend B>
Result<std::unique_ptr<FeedForward<B>>> LoadNetwork(const WeightLoader<B>& loader, const std::string& prefix,
                                                    const std::string& suffix, Run width, const LayerKind& kind = {}) {
  if (loader.config().gated) {
    return Own<GatedFeedForward<B>, B>(GatedFeedForward<B>::Load(loader, prefix, suffix, width, kind.gate_cut));
  }
  if constexpr (compute::Activations<B>) {
    return Own<PlainFeedForward<B>, B>(PlainFeedForward<B>::Load(loader, prefix, suffix, width, kind.xielu));
  } else {
    return MissingConcept<B>(loader.config(), "Activations");
  }
}

}  // namespace inferflux::model
