// An ordinary feed-forward network and experts, whose results are added. Each has norms of its own before and after,
// and the router has one too (Google, 2026).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/layers/moe.h"

namespace inferflux::model {

template <compute::Backend B>
requires compute::MoeRouting<B> && compute::Activations<B>
class DenseBesideExperts final : public FeedForward<B> {
 public:
  static Result<DenseBesideExperts> Load(const WeightLoader<B>& loader, const std::string& prefix, int32_t width) {
    const int32_t hidden = loader.config().hidden;
    auto dense = LoadNetwork<B>(loader, prefix, "", width);
    if (!dense) return Forward(dense);
    auto experts = MoeFeedForward<B>::Load(loader, prefix);
    if (!experts) return Forward(experts);
    std::vector<Norm<B>> norms;
    for (const char* name : {"ffn_norm", "post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2"}) {
      auto norm = loader.LoadRmsNorm(prefix + name, hidden);
      if (!norm) return Forward(norm);
      norms.push_back(std::move(*norm));
    }
    auto router_norm = loader.LoadScaledNorm(prefix + "ffn_gate_inp.scale", hidden);
    if (!router_norm) return Forward(router_norm);
    norms.push_back(std::move(*router_norm));
    return DenseBesideExperts(std::move(*dense), std::move(*experts), std::move(norms));
  }

  compute::Buffer<B> operator()(typename B::Context& context, compute::View<B> x) const override {
    const auto dense = norms_[1](context, (*dense_)(context, norms_[0](context, x)));
    const auto routed = experts_.Route(context, norms_[4](context, x));
    const auto experts = norms_[3](context, experts_(context, norms_[2](context, x), routed));
    return B::Add(context, dense, experts);
  }

  std::vector<std::string> Describe() const override {
    std::vector<std::string> lines = dense_->Describe();
    for (std::string& line : experts_.Describe()) lines.push_back(std::move(line));
    return lines;
  }

 private:
  DenseBesideExperts(std::unique_ptr<FeedForward<B>> dense, MoeFeedForward<B> experts, std::vector<Norm<B>> norms)
      : dense_(std::move(dense)), experts_(std::move(experts)), norms_(std::move(norms)) {}

  std::unique_ptr<FeedForward<B>> dense_;
  MoeFeedForward<B> experts_;
  std::vector<Norm<B>> norms_;  // before and after the network, before and after the experts, before the router
};

}  // namespace inferflux::model
