// From a signature to a prompt, and from an answer to values. An adapter is immutable and may be shared by threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dspy/adapters/field_stream.h"
#include "dspy/lm/call_settings.h"
#include "dspy/lm/lm.h"
#include "dspy/signature/example.h"
#include "dspy/signature/prediction.h"
#include "dspy/signature/signature.h"

namespace inferflux::dspy {

// A piece of a field that grows. The pieces of a str field are its value; those of another field are the text of it.
struct FieldDelta {
  std::string field;
  std::string text;
};
using OnField = std::function<void(const FieldDelta&)>;

// What the model answered, whether or not it parses.
struct Attempt {
  std::string text;
  Usage usage;
};

// What a call takes besides the signature and its inputs.
struct CallOptions {
  std::vector<Example> demos = {};
  std::vector<ToolSpec> tools = {};  // for models with a notation for calls; ReAct needs none
  CallSettings settings = {};
  std::vector<Message> appended = {};  // behind the prompt: an answer that did not parse, and why
  std::stop_token cancel = {};
  Attempt* attempt = nullptr;  // gets the model's text and what it cost, parsed or not
};

class Adapter {
 public:
  virtual ~Adapter() = default;

  virtual std::string_view name() const = 0;

  // The prompt as messages. Demonstrations that lack fields come first, as in DSPy; those without an input and an
  // output field are left out.
  virtual std::vector<Message> Format(const Signature& signature, std::span<const Example> demos,
                                      const Values& inputs) const;
  // kParseFailed names the field, its type and the text. All output fields are there, in the signature's order.
  virtual Result<Values> ParseResponse(const Signature& signature, std::string_view text) const = 0;
  // What makes any answer parse. kInvalidConfig where a type has a schema that cannot become one.
  virtual Result<Constraint> ConstraintFor(const Signature& signature) const = 0;
  // Cuts a growing answer into fields.
  virtual std::unique_ptr<FieldStream> NewFieldStream(const Signature& signature) const = 0;
  // How DSPy writes inputs, without the reminder of the output's form: ReAct's trajectories.
  virtual std::string FormatInputs(const Signature& signature, const Values& inputs) const = 0;
  virtual CallSettings defaults() const { return {}; }
  // The model that the adapter is bound to; null: none.
  virtual std::shared_ptr<LM> lm() const { return nullptr; }

  // One call to the model. kInvalidConfig names an input that is missing or has another type, before anything runs.
  Result<Prediction> Call(LM& lm, const Signature& signature, const Values& inputs, const CallOptions& options) const;
  // The same; fields are handed out as they grow, in the order of the answer. Those of an answer in another form than
  // the adapter's are not.
  Result<Prediction> Stream(LM& lm, const Signature& signature, const Values& inputs, const CallOptions& options,
                            const OnField& on_field) const;

 protected:
  // The parts of Format, in the order in which a prompt has them.
  virtual std::string SystemMessage(const Signature& signature) const = 0;
  // `prefix` begins an incomplete demonstration; `request` is the call itself, which may get a reminder.
  virtual std::string UserMessage(const Signature& signature, const Values& inputs, std::string_view prefix,
                                  bool request) const = 0;
  // Missing outputs are `missing`.
  virtual std::string AssistantMessage(const Signature& signature, const Values& outputs,
                                       const boost::json::value& missing) const = 0;

 private:
  Result<LmRequest> Prepare(LM& lm, const Signature& signature, const Values& inputs, const CallOptions& options) const;
  Result<Prediction> Run(LM& lm, const Signature& signature, const LmRequest& request,
                         const CallOptions& options) const;
};

}  // namespace inferflux::dspy
