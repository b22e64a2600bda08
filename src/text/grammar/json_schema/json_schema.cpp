#include "text/grammar/json_schema/json_schema.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/work_budget/work_budget.h"
#include "text/grammar/gbnf_parser.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr uint32_t kMaxJsonNesting = 256;
constexpr size_t kMaxSteps = 20'000;  // schemas within the schema, including generated ones

constexpr std::string_view kTypes[] = {"object", "array", "string", "number", "integer", "boolean", "null"};

}  // namespace

std::string_view TypeOfKeyword(std::string_view keyword) {
  for (const std::string_view name :
       {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties", "unevaluatedProperties", "dependencies", "dependentRequired", "dependentSchemas"}) {
    if (keyword == name) return "object";
  }
  if (keyword == kSomeMembers) return "object";
  if (keyword == kSomeItems) return "array";
  if (keyword == kAllPatterns) return "string";
  for (const std::string_view name : {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems",
                                      "contains", "minContains", "maxContains"}) {
    if (keyword == name) return "array";
  }
  for (const std::string_view name : {"minLength", "maxLength", "pattern", "format"}) {
    if (keyword == name) return "string";
  }
  for (const std::string_view name : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}) {
    if (keyword == name) return "number";
  }
  return {};
}

SchemaCompiler::Place SchemaCompiler::Place::At(std::string_view key) const {
  return {.path = fmt::format("{}/{}", path, key), .depth = depth + 1};
}

SchemaCompiler::Place SchemaCompiler::Place::At(std::string_view key, size_t index) const {
  return {.path = fmt::format("{}/{}/{}", path, key, index), .depth = depth + 1};
}

Result<Expr> SchemaCompiler::Any(const Value& schema, const Place& at) {
  if (schema == true) return json_.Value();
  if (schema == false) return Nothing();
  if (!schema.is_object()) return Wrong(at, "a schema must be an object, true or false");
  return AnyObject(schema.get_object(), at);
}

Result<Expr> SchemaCompiler::AnyObject(const Object& schema, const Place& at) {
  if (at.depth > kMaxSchemaDepth) return Wrong(at, "schemas are nested deeper than {}", kMaxSchemaDepth);
  if (auto known = CheckKeywords(schema, at); !known) return Forward(known);
  if (++steps_ > kMaxSteps) return Wrong(at, "the schema is too large, or its parts combine in too many ways");
  if (Status on_time = WorkBudget::Check(64); !on_time) return Forward(on_time);
  if (const Value* type = schema.if_contains("type");
      type != nullptr && type->is_array() && type->get_array().empty()) {
    return Nothing();  // two that must both hold have no common type
  }
  if (HasSugar(schema)) {
    auto plain = WithoutSugar(schema, at);
    if (!plain) return Forward(plain);
    return AnyObject(*plain, {.path = at.path, .depth = at.depth + 1});
  }
  const auto keywords = std::ranges::count_if(schema, [](const auto& entry) { return !IsAnnotation(entry.key()); });
  const Value* reference = schema.if_contains("$ref");
  const Value* all = schema.if_contains("allOf");
  if (reference != nullptr && keywords == 1) return CallReference(*reference, at);
  if (all != nullptr && keywords == 1 && all->is_array() && all->get_array().size() == 1) {
    return Any(all->get_array()[0], at.At("allOf", 0));
  }
  if (reference != nullptr || all != nullptr) {
    auto flat = Flatten(schema, at, 0);
    if (!flat) return Forward(flat);
    return AnyObject(*flat, {.path = at.path, .depth = at.depth + 1});
  }
  if (const Value* nullable = schema.if_contains("nullable")) {
    Object rest = schema;
    rest.erase("nullable");
    auto body = AnyObject(rest, {.path = at.path, .depth = at.depth + 1});
    if (!body || *nullable == false) return body;
    if (*nullable != true) return Wrong(at.At("nullable"), "must be true or false");
    return Choice({std::move(*body), json_.Word("null")});
  }
  if (schema.contains("anyOf")) return Alternatives(schema, "anyOf", at);
  if (schema.contains("oneOf")) return Alternatives(schema, "oneOf", at);
  if (schema.contains("const") || schema.contains("enum")) return Constants(schema, at);
  auto types = TypesOf(schema, at);
  if (!types) return Forward(types);
  if (types->empty()) return schema.contains("type") ? Nothing() : json_.Value();
  std::vector<Expr> ways;
  for (const std::string_view type : *types) {
    auto way = OfType(type, schema, at);
    if (!way) return way;
    ways.push_back(std::move(*way));
  }
  return Choice(std::move(ways));
}

// The types that the schema names, or else those that its keywords apply to; none: any type.
Result<std::vector<std::string_view>> SchemaCompiler::TypesOf(const Object& schema, const Place& at) const {
  std::vector<std::string_view> types;
  const auto add = [&](std::string_view type) {
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  };
  const Value* type = schema.if_contains("type");
  if (type == nullptr) {
    for (const auto& [keyword, value] : schema) {
      const std::string_view implied = TypeOfKeyword(keyword);
      if (!implied.empty()) add(implied);
    }
    return types;
  }
  const Array listed = type->is_array() ? type->get_array() : Array{*type};
  for (const Value& name : listed) {
    const auto* known =
        name.is_string() ? std::ranges::find(kTypes, std::string_view(name.get_string())) : std::end(kTypes);
    if (known == std::end(kTypes)) return Wrong(at.At("type"), "'{}' is not a type of JSON", json::serialize(name));
    add(*known);
  }
  if (std::ranges::find(types, "number") != types.end()) std::erase(types, "integer");
  return types;
}

Result<Expr> SchemaCompiler::OfType(std::string_view type, const Object& schema, const Place& at) {
  if (type == "null") return json_.Word("null");
  if (type == "boolean") return Choice({json_.Word("true"), json_.Word("false")});
  if (type == "integer" || type == "number") return Number(schema, type == "integer", at);
  if (type == "string") return String(schema, at);
  if (type == "array") return List(schema, at);
  return Members(schema, at);
}

Result<std::optional<uint32_t>> SchemaCompiler::CountOf(const Object& schema, std::string_view keyword,
                                                        const Place& at) const {
  const Value* value = schema.if_contains(keyword);
  if (value == nullptr) return std::optional<uint32_t>();
  boost::system::error_code inexact;
  const auto count = value->is_number() ? value->to_number<uint32_t>(inexact) : 0;
  if (!value->is_number() || inexact || count > kMaxRepetitions) {
    return Wrong(at.At(keyword), "must be an integer from 0 to {}", kMaxRepetitions);
  }
  return std::optional(count);
}

Expr SchemaCompiler::Enclosed(char open, Expr content, char close) {
  return Sequence({Literal(std::string(1, open)), json_.Space(), std::move(content), Literal(std::string(1, close))});
}

Result<json::value> ReadSchema(const std::string& source) {
  if (source.size() > kMaxGrammarBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the schema has {} bytes; at most {} are taken", source.size(),
                kMaxGrammarBytes);
  }
  json::parse_options options;
  options.max_depth = kMaxJsonNesting;
  boost::system::error_code error;
  json::value schema = json::parse(source, error, {}, options);
  if (error) return Fail(ErrorCode::kInvalidArgument, "the schema is not valid JSON: {}", error.message());
  return schema;
}

Result<Grammar> GrammarOfSchema(const json::value& schema, const std::optional<JsonSeparators>& exact) {
  JsonGrammar json(exact);
  auto body = SchemaCompiler(schema, json).Compile();
  if (!body) return Forward(body);
  return json.Finish("the schema", std::move(*body));
}

Grammar GrammarOfAnyObject() {
  JsonGrammar json;
  const Expr object = json.Object();
  json.grammar().root = object->rule;
  return std::move(json.grammar());
}

}  // namespace inferflux::text
