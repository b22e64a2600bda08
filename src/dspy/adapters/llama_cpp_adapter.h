// The plain form: the instruction as the system message, "name: value" lines, demonstrations as turns. Short, for small
// models. It runs on any engine.
#pragma once

#include <memory>

#include "dspy/adapters/adapter.h"
#include "dspy/adapters/llama_cpp_config.h"
#include "dspy/lm/loaded_model.h"

namespace inferflux::dspy {

class LlamaCppAdapter : public Adapter {
 public:
  LlamaCppAdapter() = default;
  explicit LlamaCppAdapter(LlamaCppConfig config) : config_(std::move(config)) {}
  // Bound to the model, whatever engine runs it: programs with this adapter use it unless they have one of their own.
  // kInvalidConfig where the settings contradict the load.
  static Result<std::shared_ptr<LlamaCppAdapter>> FromLoadedModel(std::shared_ptr<LoadedModel> model,
                                                                  LlamaCppConfig config = {});

  std::string_view name() const override { return "LlamaCppAdapter"; }
  const LlamaCppConfig& config() const { return config_; }
  CallSettings defaults() const override { return config_.call; }
  std::shared_ptr<LM> lm() const override { return model_; }

  Result<Values> ParseResponse(const Signature& signature, std::string_view text) const override;
  Result<Constraint> ConstraintFor(const Signature& signature) const override;
  std::unique_ptr<FieldStream> NewFieldStream(const Signature& signature) const override;
  std::string FormatInputs(const Signature& signature, const Values& inputs) const override;

 protected:
  std::string SystemMessage(const Signature& signature) const override;
  std::string UserMessage(const Signature& signature, const Values& inputs, std::string_view prefix,
                          bool request) const override;
  std::string AssistantMessage(const Signature& signature, const Values& outputs,
                               const boost::json::value& missing) const override;

 private:
  LlamaCppConfig config_;
  std::shared_ptr<LoadedModel> model_;
};

}  // namespace inferflux::dspy
