// One call to a language model by a signature.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "dspy/programs/module.h"
#include "dspy/signature/signature.h"

namespace inferflux::dspy {

class Predict : public Module {
 public:
  explicit Predict(Signature signature, CallSettings settings = {})
      : signature_(std::move(signature)), settings_(std::move(settings)) {}

  const Signature& signature() const { return signature_; }
  const std::vector<Example>& demos() const { return demos_; }
  void set_demos(std::vector<Example> demos) { demos_ = std::move(demos); }
  void set_lm(std::shared_ptr<LM> lm) { lm_ = std::move(lm); }
  void set_settings(CallSettings settings) { settings_ = std::move(settings); }
  void Reset();  // no demonstrations, no model

  // kInvalidConfig where there is no model; else what the adapter and the model say (adapter.h).
  Result<Prediction> Forward(const Values& inputs, const RunContext& context) const override;
  std::vector<NamedPredictor> Predictors() override { return {{"self", this}}; }
  std::unique_ptr<Module> Clone() const override { return std::make_unique<Predict>(*this); }

  // A predictor that is a program of its own has no name in its state.
  boost::json::object DumpState() const override;
  Status LoadState(const boost::json::object& state) override;
  // This predictor with what a state says; errors have the name.
  Result<Predict> LoadedPredictor(std::string_view name, const boost::json::object& state) const;

 private:
  Signature signature_;
  CallSettings settings_;
  std::vector<Example> demos_;
  std::shared_ptr<LM> lm_;
};

// Reasons in a field of its own, "reasoning", before it answers.
class ChainOfThought : public Module {
 public:
  explicit ChainOfThought(const Signature& signature, CallSettings settings = {});

  Result<Prediction> Forward(const Values& inputs, const RunContext& context) const override {
    return predict_.Forward(inputs, context);
  }
  std::vector<NamedPredictor> Predictors() override { return PredictorsOf({{"predict", &predict_}}); }
  std::unique_ptr<Module> Clone() const override { return std::make_unique<ChainOfThought>(*this); }
  const Predict& predict() const { return predict_; }

 private:
  Predict predict_;
};

}  // namespace inferflux::dspy
