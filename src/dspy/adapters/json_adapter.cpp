#include "dspy/adapters/answer_grammar.h"
#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/field_format.h"
#include "dspy/adapters/parse_answer.h"
#include "dspy/python/literal_reader.h"
#include "dspy/python/python_format.h"
#include "dspy/python/python_text.h"

namespace inferflux::dspy {

std::string JSONAdapter::Structure(const Signature& signature) const {
  std::string inputs;
  for (const Field& field : signature.inputs()) {
    inputs += fmt::format("{}[[ ## {} ## ]]\n{}", inputs.empty() ? "" : "\n\n", field.name, Placeholder(field, false));
  }
  Values outputs;
  for (const Field& field : signature.outputs()) outputs[field.name] = Placeholder(field, true);
  const std::string text = fmt::format(
      "All interactions will be structured in the following way, with the appropriate values filled in.\n\n"
      "Inputs will have the following structure:\n\n{}\n\n"
      "Outputs will be a JSON object with the following fields.\n\n{}",
      Strip(inputs), JsonDumps(outputs, 2));
  return std::string(Strip(text));
}

std::string JSONAdapter::Reminder(const Signature& signature) const {
  std::string out = "Respond with a JSON object in the following order of fields: ";
  for (size_t i = 0; i < signature.outputs().size(); ++i) {
    const Field& field = signature.outputs()[i];
    out += fmt::format("{}`{}`{}", i > 0 ? ", then " : "", field.name, TypeReminder(field));
  }
  return out + ".";
}

std::string JSONAdapter::AssistantMessage(const Signature& signature, const Values& outputs,
                                          const boost::json::value& missing) const {
  Values all;
  for (const Field& field : signature.outputs()) {
    const auto* value = outputs.if_contains(field.name);
    all[field.name] = value ? *value : missing;
  }
  return JsonDumps(all, 2);
}

Result<Values> JSONAdapter::ParseResponse(const Signature& signature, std::string_view text) const {
  if (auto values = FromJson(signature, text); !values || !values->empty()) return values;
  const auto stream = NewMarkerStream(signature, MatchHeader);
  Values fields = CutFields(*stream, text);
  if (auto values = FromFields(signature, fields); !values || !values->empty()) return values;
  if (fields.empty()) fields = FindJsonObject(text).value_or(Values());
  return FromWholeText(signature, text, fields);
}

Result<Constraint> JSONAdapter::ConstraintFor(const Signature& signature) const { return AnswerSchema(signature); }

std::unique_ptr<FieldStream> JSONAdapter::NewFieldStream(const Signature& signature) const {
  return NewJsonStream(signature);
}

}  // namespace inferflux::dspy
