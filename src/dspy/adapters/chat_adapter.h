// DSPy's ChatAdapter: "[[ ## field ## ]]" before each value. Message for message what dspy 3.4.1 renders
// (dspy/adapters/chat_adapter.py); tools/dspy_golden.py makes the texts that the tests compare with.
#pragma once

#include "dspy/adapters/adapter.h"

namespace inferflux::dspy {

class ChatAdapter : public Adapter {
 public:
  std::string_view name() const override { return "ChatAdapter"; }
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

  // What JSONAdapter has in another form.
  virtual std::string Structure(const Signature& signature) const;
  virtual std::string Reminder(const Signature& signature) const;
};

// DSPy's JSONAdapter: inputs as above, outputs as one JSON object (dspy/adapters/json_adapter.py).
class JSONAdapter : public ChatAdapter {
 public:
  std::string_view name() const override { return "JSONAdapter"; }
  Result<Values> ParseResponse(const Signature& signature, std::string_view text) const override;
  Result<Constraint> ConstraintFor(const Signature& signature) const override;
  std::unique_ptr<FieldStream> NewFieldStream(const Signature& signature) const override;

 protected:
  std::string AssistantMessage(const Signature& signature, const Values& outputs,
                               const boost::json::value& missing) const override;
  std::string Structure(const Signature& signature) const override;
  std::string Reminder(const Signature& signature) const override;
};

}  // namespace inferflux::dspy
