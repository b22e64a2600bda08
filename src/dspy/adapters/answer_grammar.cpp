#include "dspy/adapters/answer_grammar.h"

#include <boost/json/array.hpp>

#include "dspy/adapters/gbnf_writer.h"
#include "dspy/python/python_format.h"

namespace inferflux::dspy {
namespace {

tl::unexpected<Error> NamingField(Error error, const Field& field) {
  error.message = fmt::format("the field '{}': {}", field.name, error.message);
  error.field = field.name;
  return tl::make_unexpected(std::move(error));
}

}  // namespace

Result<Constraint> HeaderGrammar(const Signature& signature) {
  GbnfWriter writer;
  writer.TextWithout("text", {"[["}, false);
  std::string root;
  for (const Field& field : signature.outputs()) {
    auto value = writer.Value(field.type, "text");
    if (!value) return NamingField(std::move(value.error()), field);
    root += GbnfLiteral(fmt::format("{}[[ ## {} ## ]]\n", root.empty() ? "" : "\n\n", field.name)) + " " + *value + " ";
  }
  writer.Add("root", root + GbnfLiteral("\n\n[[ ## completed ## ]]"));
  return Constraint{.kind = Constraint::Kind::kGbnf, .source = writer.Take()};
}

Result<Constraint> NameGrammar(const Signature& signature) {
  GbnfWriter writer;
  std::vector<std::string> markers;
  for (const Field& field : signature.outputs()) {
    markers.push_back(field.name + ":");
    if (field.prefix.ends_with(':')) markers.push_back(field.prefix);
  }
  writer.TextWithout("text", markers, true);
  std::string root;
  for (const Field& field : signature.outputs()) {
    auto value = writer.Value(field.type, "text");
    if (!value) return NamingField(std::move(value.error()), field);
    root += GbnfLiteral(fmt::format("{}{}: ", root.empty() ? "" : "\n", field.name)) + " " + *value + " ";
  }
  writer.Add("root", root);
  return Constraint{.kind = Constraint::Kind::kGbnf, .source = writer.Take()};
}

Result<Constraint> AnswerSchema(const Signature& signature) {
  boost::json::object definitions;
  boost::json::object properties;
  boost::json::array required;
  for (const Field& field : signature.outputs()) {
    properties[field.name] = SchemaOf(field.type, definitions);
    required.push_back(boost::json::value(field.name));
  }
  boost::json::object schema = {{"type", "object"},
                                {"properties", std::move(properties)},
                                {"required", std::move(required)},
                                {"additionalProperties", false}};
  if (!definitions.empty()) schema["$defs"] = std::move(definitions);
  return Constraint{.kind = Constraint::Kind::kJsonSchema, .source = JsonDumps(schema)};
}

}  // namespace inferflux::dspy
