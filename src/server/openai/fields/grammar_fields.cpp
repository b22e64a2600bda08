#include "server/openai/fields/grammar_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>
#include <vector>

#include "server/request/fields.h"
#include "text/grammar/gbnf_parser.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using text::GrammarSpec;
using Kind = GrammarSpec::Kind;

constexpr size_t kMaxChoiceTexts = 1024;

// Clients that speak to several versions of a server send one grammar under two names.
ApiStatus Set(GrammarSpec spec, std::string param, GenerationFields& out) {
  if (out.grammar && *out.grammar == spec) return {};
  if (out.grammar) {
    return Refuse(param, "cannot go with '{}': one field alone says what the text must be", out.grammar_param);
  }
  out.grammar = std::move(spec);
  out.grammar_param = std::move(param);
  return {};
}

ApiStatus SetSource(Kind kind, const json::value& value, std::string_view param, GenerationFields& out) {
  ApiResult<std::string> source = ReadText(value, param, text::kMaxGrammarBytes);
  if (!source) return Forward(source);
  return Set({.kind = kind, .source = std::move(*source)}, std::string(param), out);
}

struct SchemaFields {
  std::string name;
  std::string description;
  bool strict = false;  // the schema constrains the text either way
  std::optional<std::string> schema;
};

ApiStatus TakeSchema(const json::value& value, std::string_view param, SchemaFields& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  out.schema = json::serialize(value);
  return {};
}

ApiStatus TakeJsonSchema(const json::value& value, std::string_view param, GenerationFields& out) {
  static constexpr Field<SchemaFields> kFields[] = {
      {"name", TextField<SchemaFields>{&SchemaFields::name, 64}},
      {"description", TextField<SchemaFields>{&SchemaFields::description, std::numeric_limits<size_t>::max()}},
      {"strict", BooleanField<SchemaFields>{&SchemaFields::strict}},
      {"schema", CustomField<SchemaFields>{TakeSchema}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  SchemaFields fields;
  if (ApiStatus taken = ParseObject<SchemaFields>(kFields, param, **object, fields); !taken) return taken;
  if (fields.name.empty()) return Refuse(Join(param, "name"), "is missing");
  if (!fields.schema) return Set({.kind = Kind::kJsonObject}, std::string(param), out);
  return Set({.kind = Kind::kJsonSchema, .source = std::move(*fields.schema)}, Join(param, "schema"), out);
}

struct FormatFields {
  std::string type;
  const json::value* json_schema = nullptr;
};

// --- structured_outputs ---

ApiStatus TakeJson(const json::value& value, std::string_view param, GenerationFields& out) {
  if (value.is_string()) return SetSource(Kind::kJsonSchema, value, param, out);
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  return Set({.kind = Kind::kJsonSchema, .source = json::serialize(value)}, std::string(param), out);
}

ApiStatus TakeJsonObject(const json::value& value, std::string_view param, GenerationFields& out) {
  const auto wanted = ReadBoolean(value, param);
  if (!wanted) return Forward(wanted);
  return *wanted ? Set({.kind = Kind::kJsonObject}, std::string(param), out) : ApiStatus();
}

ApiStatus TakeRegex(const json::value& value, std::string_view param, GenerationFields& out) {
  return SetSource(Kind::kRegex, value, param, out);
}

ApiStatus TakeChoice(const json::value& value, std::string_view param, GenerationFields& out) {
  const auto list = ReadArray(value, param, kMaxChoiceTexts);
  if (!list) return Forward(list);
  GrammarSpec spec{.kind = Kind::kChoice};
  for (size_t i = 0; i < (*list)->size(); ++i) {
    ApiResult<std::string> choice = ReadText((**list)[i], fmt::format("{}[{}]", param, i), text::kMaxGrammarBytes);
    if (!choice) return Forward(choice);
    spec.choices.push_back(std::move(*choice));
  }
  return Set(std::move(spec), std::string(param), out);
}

}  // namespace

ApiStatus TakeResponseFormat(const json::value& value, std::string_view param, GenerationFields& out) {
  static constexpr Field<FormatFields> kFields[] = {
      {"type", TextField<FormatFields>{&FormatFields::type, 64}},
      {"json_schema", CustomField<FormatFields>{[](const json::value& schema, std::string_view, FormatFields& fields) {
         fields.json_schema = &schema;
         return ApiStatus();
       }}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  FormatFields fields;
  if (ApiStatus taken = ParseObject<FormatFields>(kFields, param, **object, fields); !taken) return taken;
  const std::string schema_param = Join(param, "json_schema");
  if (fields.type == "json_schema") {
    if (fields.json_schema == nullptr) return Refuse(schema_param, "is missing");
    return TakeJsonSchema(*fields.json_schema, schema_param, out);
  }
  if (fields.json_schema != nullptr) return Refuse(schema_param, "goes with the type \"json_schema\"");
  if (fields.type == "json_object") return Set({.kind = Kind::kJsonObject}, std::string(param), out);
  if (fields.type == "text") return {};
  return Refuse(Join(param, "type"), "must be \"text\", \"json_object\" or \"json_schema\"");
}

// llguidance's grammars, which are Lark's with additions, say so.
ApiStatus TakeGrammar(const json::value& value, std::string_view param, GenerationFields& out) {
  const json::string* text = value.if_string();
  const size_t begin = text == nullptr ? std::string::npos : std::string_view(*text).find_first_not_of(" \t\r\n");
  const bool lark = begin != std::string::npos && std::string_view(*text).substr(begin).starts_with("%llguidance");
  return SetSource(lark ? Kind::kLark : Kind::kGbnf, value, param, out);
}

ApiStatus TakeLark(const json::value& value, std::string_view param, GenerationFields& out) {
  return SetSource(Kind::kLark, value, param, out);
}

ApiStatus TakeStructuredOutputs(const json::value& value, std::string_view param, GenerationFields& out) {
  static constexpr Field<GenerationFields> kFields[] = {
      {"json", CustomField<GenerationFields>{TakeJson}},
      {"json_object", CustomField<GenerationFields>{TakeJsonObject}},
      {"regex", CustomField<GenerationFields>{TakeRegex}},
      {"choice", CustomField<GenerationFields>{TakeChoice}},
      {"grammar", CustomField<GenerationFields>{TakeGrammar}},
      {"lark", CustomField<GenerationFields>{TakeLark}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  if ((*object)->empty()) return Refuse(param, "must have one of json, json_object, regex, choice, grammar and lark");
  return ParseObject<GenerationFields>(kFields, param, **object, out);
}

}  // namespace inferflux::server
