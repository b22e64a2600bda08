// What a step brings to the host, from the moment when its work was given to the device. Where the backend has late
// results, the host is free until Finish; elsewhere they are there at once.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/device_features.h"

namespace inferflux::engine {

// Values of a matrix.
template <compute::Backend B>
class StepValues {
 public:
  static StepValues Begin(typename B::Context& context, compute::View<B> x) { return StepValues(B::Read(context, x)); }
  std::vector<float> Finish(typename B::Context&) { return std::move(values_); }

 private:
  explicit StepValues(std::vector<float> values) : values_(std::move(values)) {}

  std::vector<float> values_;
};

template <compute::LateResults B>
class StepValues<B> {
 public:
  static StepValues Begin(typename B::Context& context, compute::View<B> x) {
    return StepValues(B::BeginRead(context, x));
  }
  std::vector<float> Finish(typename B::Context& context) { return B::FinishRead(context, std::move(late_)); }

 private:
  explicit StepValues(typename B::LateRead late) : late_(std::move(late)) {}

  typename B::LateRead late_;
};

// Tokens that the device samples.
template <compute::DeviceSampling B>
class StepTokens {
 public:
  static Result<StepTokens> Begin(typename B::Context& context, compute::View<B> logits,
                                  std::span<const compute::SampleRow> rows) {
    auto tokens = B::Sample(context, logits, rows);
    if (!tokens) return Forward(tokens);
    return StepTokens(std::move(*tokens));
  }
  Result<std::vector<compute::SampledToken>> Finish(typename B::Context&) { return std::move(tokens_); }

 private:
  explicit StepTokens(std::vector<compute::SampledToken> tokens) : tokens_(std::move(tokens)) {}

  std::vector<compute::SampledToken> tokens_;
};

template <compute::LateResults B>
class StepTokens<B> {
 public:
  static Result<StepTokens> Begin(typename B::Context& context, compute::View<B> logits,
                                  std::span<const compute::SampleRow> rows) {
    auto late = B::BeginSample(context, logits, rows);
    if (!late) return Forward(late);
    return StepTokens(std::move(*late));
  }
  Result<std::vector<compute::SampledToken>> Finish(typename B::Context& context) {
    return B::FinishSample(context, std::move(late_));
  }

 private:
  explicit StepTokens(typename B::LateTokens late) : late_(std::move(late)) {}

  typename B::LateTokens late_;
};

// For backends that sample nothing there are none.
struct NoTokens {};
template <compute::Backend B>
struct StepTokensOf {
  using Type = NoTokens;
};
template <compute::DeviceSampling B>
struct StepTokensOf<B> {
  using Type = StepTokens<B>;
};

}  // namespace inferflux::engine
