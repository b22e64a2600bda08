// The plain form: the instruction as the system message, "name: value" lines, demonstrations as turns. Short, for small
// models. It runs on any engine.
#pragma once

#include "dspy/adapters/adapter.h"
#include "dspy/adapters/llama_cpp_config.h"

namespace inferflux::dspy {

class LlamaCppAdapter : public Adapter {
 public:
  LlamaCppAdapter() = default;
  explicit LlamaCppAdapter(LlamaCppConfig config) : config_(std::move(config)) {}

  std::string_view name() const override { return "LlamaCppAdapter"; }
  const LlamaCppConfig& config() const { return config_; }
  CallSettings defaults() const override { return config_.call; }

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
};

}  // namespace inferflux::dspy
