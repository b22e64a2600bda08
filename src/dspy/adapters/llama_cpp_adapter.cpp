#include "dspy/adapters/llama_cpp_adapter.h"

#include "dspy/adapters/answer_grammar.h"
#include "dspy/adapters/field_format.h"
#include "dspy/adapters/parse_answer.h"
#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

bool IsDescribed(const Field& field) { return field.desc != "${" + field.name + "}"; }

void AppendLine(std::string_view name, std::string_view value, std::string& out) {
  if (!out.empty()) out += '\n';
  out += fmt::format("{}: {}", name, value);
}

}  // namespace

Result<std::shared_ptr<LlamaCppAdapter>> LlamaCppAdapter::FromLoadedModel(std::shared_ptr<LoadedModel> model,
                                                                          LlamaCppConfig config) {
  if (!model) return Fail(ErrorCode::kInvalidConfig, "there is no model for the LlamaCppAdapter; load one first");
  if (auto checked = Check(config.call); !checked) return Forward(checked);
  if (auto fits = CheckAgainst(config.call, model->load_options()); !fits) return Forward(fits);
  auto adapter = std::make_shared<LlamaCppAdapter>(std::move(config));
  adapter->model_ = std::move(model);
  return adapter;
}

std::string LlamaCppAdapter::SystemMessage(const Signature& signature) const {
  std::string fields;
  const auto describe = [&](const Field& field) {
    AppendLine(fmt::format("{} ({})", field.name, NameOf(field.type)), IsDescribed(field) ? field.desc : "", fields);
    fields = fields.substr(0, fields.find_last_not_of(": ") + 1);
  };
  for (const Field& field : signature.inputs()) {
    if (IsDescribed(field)) describe(field);
  }
  for (const Field& field : signature.outputs()) {
    if (IsDescribed(field) || field.type.kind != FieldType::Kind::kStr) describe(field);
  }
  if (fields.empty()) return signature.instructions();
  return signature.instructions() + (signature.instructions().empty() ? "" : "\n\n") + fields;
}

std::string LlamaCppAdapter::UserMessage(const Signature& signature, const Values& inputs, std::string_view,
                                         bool) const {
  std::string out;
  for (const Field& field : signature.inputs()) {
    if (const auto* value = inputs.if_contains(field.name)) {
      AppendLine(field.name, FormatValue(field.type, *value), out);
    }
  }
  return out;
}

std::string LlamaCppAdapter::FormatInputs(const Signature& signature, const Values& inputs) const {
  return UserMessage(signature, inputs, "", false);
}

// Outputs that a demonstration lacks are left out: a small model would repeat a note in their place.
std::string LlamaCppAdapter::AssistantMessage(const Signature& signature, const Values& outputs,
                                              const boost::json::value&) const {
  std::string out;
  for (const Field& field : signature.outputs()) {
    const auto* value = outputs.if_contains(field.name);
    if (value) AppendLine(field.name, FormatValue(field.type, *value), out);
  }
  return out;
}

Result<Values> LlamaCppAdapter::ParseResponse(const Signature& signature, std::string_view text) const {
  const auto stream = NewMarkerStream(signature, NameMarkers(signature));
  const Values fields = CutFields(*stream, text);
  if (auto values = FromFields(signature, fields); !values || !values->empty()) return values;
  if (auto values = FromJson(signature, text); !values || !values->empty()) return values;
  return FromWholeText(signature, text, fields);
}

Result<Constraint> LlamaCppAdapter::ConstraintFor(const Signature& signature) const { return NameGrammar(signature); }

std::unique_ptr<FieldStream> LlamaCppAdapter::NewFieldStream(const Signature& signature) const {
  return NewMarkerStream(signature, NameMarkers(signature));
}

}  // namespace inferflux::dspy
