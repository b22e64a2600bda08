#include "dspy/programs/predict.h"

#include "dspy/programs/generate_with_retry.h"

namespace inferflux::dspy {

void Predict::Reset() {
  demos_.clear();
  lm_ = nullptr;
}

Result<Prediction> Predict::Forward(const Values& inputs, const RunContext& context) const {
  const Settings current = CurrentSettings();
  const auto adapter = context.adapter ? context.adapter : current.adapter;
  const auto bound = context.adapter ? context.adapter->lm() : nullptr;
  const auto lm = context.lm ? context.lm : lm_ ? lm_ : bound ? bound : current.lm;
  if (!lm) {
    return Fail(ErrorCode::kInvalidConfig,
                "there is no language model for '{}'; call Configure, or give one to the call", signature_.ToString());
  }
  const CallOptions options{.demos = demos_, .settings = Merge(context.settings, settings_), .cancel = context.cancel};
  auto prediction = GenerateWithRetry(*adapter, *lm, signature_, inputs, options, context.on_field);
  if (prediction && context.trace) context.trace->push_back({this, inputs, prediction->values()});
  return prediction;
}

ChainOfThought::ChainOfThought(const Signature& signature, CallSettings settings)
    : predict_(signature.WithOutputInFront({.name = "reasoning"}), std::move(settings)) {}

}  // namespace inferflux::dspy
