#include "dspy/adapters/chat_adapter.h"

#include "dspy/adapters/answer_grammar.h"
#include "dspy/adapters/field_format.h"
#include "dspy/adapters/parse_answer.h"
#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

constexpr std::string_view kCompleted = "[[ ## completed ## ]]";
constexpr std::string_view kStructured =
    "All interactions will be structured in the following way, with the appropriate values filled in.";

std::string Section(std::string_view name, std::string_view value) {
  return fmt::format("[[ ## {} ## ]]\n{}", name, value);
}

std::string JoinSections(const std::vector<std::string>& sections) {
  std::string out;
  for (size_t i = 0; i < sections.size(); ++i) out += (i > 0 ? "\n\n" : "") + sections[i];
  return std::string(Strip(out));
}

std::string Placeholders(const std::vector<Field>& fields, bool outputs) {
  std::vector<std::string> sections;
  for (const Field& field : fields) sections.push_back(Section(field.name, Placeholder(field, outputs)));
  return JoinSections(sections);
}

std::string Objective(const Signature& signature) {
  const std::string instructions = Dedent(signature.instructions());
  std::string out = "In adhering to this structure, your objective is: ";
  for (const std::string_view line : SplitLines(instructions)) out += "\n        " + std::string(line);
  return out;
}

}  // namespace

std::string ChatAdapter::Structure(const Signature& signature) const {
  return JoinSections({std::string(kStructured), Placeholders(signature.inputs(), false),
                       Placeholders(signature.outputs(), true), std::string(kCompleted)});
}

std::string ChatAdapter::Reminder(const Signature& signature) const {
  std::string out = "Respond with the corresponding output fields, starting with the field ";
  for (size_t i = 0; i < signature.outputs().size(); ++i) {
    const Field& field = signature.outputs()[i];
    out += fmt::format("{}`[[ ## {} ## ]]`{}", i > 0 ? ", then " : "", field.name, TypeReminder(field));
  }
  return out + ", and then ending with the marker for `[[ ## completed ## ]]`.";
}

std::string ChatAdapter::SystemMessage(const Signature& signature) const {
  return fmt::format("Your input fields are:\n{}\nYour output fields are:\n{}\n{}\n{}",
                     DescribeFields(signature.inputs()), DescribeFields(signature.outputs()), Structure(signature),
                     Objective(signature));
}

std::string ChatAdapter::UserMessage(const Signature& signature, const Values& inputs, std::string_view prefix,
                                     bool request) const {
  std::vector<std::string> sections = {std::string(prefix)};
  for (const Field& field : signature.inputs()) {
    if (const auto* value = inputs.if_contains(field.name)) {
      sections.push_back(Section(field.name, FormatValue(field.type, *value)));
    }
  }
  if (request) sections.push_back(Reminder(signature));
  return JoinSections(sections);
}

std::string ChatAdapter::FormatInputs(const Signature& signature, const Values& inputs) const {
  return UserMessage(signature, inputs, "", false);
}

std::string ChatAdapter::AssistantMessage(const Signature& signature, const Values& outputs,
                                          const boost::json::value& missing) const {
  std::vector<std::string> sections;
  for (const Field& field : signature.outputs()) {
    const auto* value = outputs.if_contains(field.name);
    sections.push_back(Section(field.name, FormatValue(field.type, value ? *value : missing)));
  }
  return JoinSections(sections) + fmt::format("\n\n{}\n", kCompleted);
}

Result<Values> ChatAdapter::ParseResponse(const Signature& signature, std::string_view text) const {
  const auto stream = NewMarkerStream(signature, MatchHeader);
  const Values fields = CutFields(*stream, text);
  if (auto values = FromFields(signature, fields); !values || !values->empty()) return values;
  if (auto values = FromJson(signature, text); !values || !values->empty()) return values;
  return FromWholeText(signature, text, fields);
}

Result<Constraint> ChatAdapter::ConstraintFor(const Signature& signature) const { return HeaderGrammar(signature); }

std::unique_ptr<FieldStream> ChatAdapter::NewFieldStream(const Signature& signature) const {
  return NewMarkerStream(signature, MatchHeader);
}

}  // namespace inferflux::dspy
