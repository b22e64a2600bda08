// Rewrites not, if, then, else and dependencies with the other keywords.
#include <algorithm>
#include <utility>

#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/string_formats.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxNegationDepth = 32;
constexpr size_t kMaxNegations = 2000;  // in one schema

constexpr std::string_view kSugar[] = {"if",          "then", "else", "not", "dependentRequired", "dependentSchemas",
                                       "dependencies"};

constexpr std::string_view kConditions[] = {"if", "dependentRequired", "dependentSchemas", "dependencies"};

bool HoldsAlways(const json::value& schema) {
  return schema == true || (schema.is_object() && std::ranges::all_of(schema.get_object(), [](const auto& entry) {
                              return IsAnnotation(entry.key());
                            }));
}

// Documents that violate these are left out, at least some of them.
bool IsHardToViolate(std::string_view keyword, const json::value& value) {
  if (keyword == "uniqueItems") return value == true;
  for (const std::string_view hard :
       {"contains", "minContains", "maxContains", "additionalItems", "unevaluatedProperties", "items", "prefixItems"}) {
    if (keyword == hard) return value != false && !HoldsAlways(value);
  }
  return keyword == kSomeMembers;
}

// Automata can express what a 'not' excludes from strings (anything) and from numbers (integers and multiples).
bool KeepsNot(const json::object& schema) {
  const json::value* type = schema.if_contains("type");
  const auto is = [&](std::string_view name) {
    return type != nullptr && (*type == json::value(name) || *type == json::array{json::value(name)});
  };
  if (is("string")) return true;
  return (is("number") || is("integer")) && SchemaCompiler::IsOfMultiples(schema.at("not"));
}

// All values except those of the list. If the list has arrays or objects, no array or object at all.
void AddOthers(const json::array& listed, json::array& out) {
  json::array texts, numbers;
  bool lists = false, objects = false, null = false, truths[2] = {};
  for (const json::value& value : listed) {
    if (value.is_string()) texts.push_back(value);
    if (value.is_number()) numbers.push_back(value);
    if (value.is_bool()) truths[value.get_bool() ? 1 : 0] = true;
    null = null || value.is_null();
    lists = lists || value.is_array();
    objects = objects || value.is_object();
  }
  json::object text{{"type", "string"}};
  if (!texts.empty()) text["not"] = json::object{{"enum", std::move(texts)}};
  out.push_back(std::move(text));
  std::ranges::sort(numbers, {}, [](const json::value& value) { return value.to_number<double>(); });
  for (size_t i = 0; i <= numbers.size(); ++i) {
    json::object between{{"type", "number"}};
    if (i > 0) between["exclusiveMinimum"] = numbers[i - 1];
    if (i < numbers.size()) between["exclusiveMaximum"] = numbers[i];
    out.push_back(std::move(between));
  }
  for (const bool truth : {false, true}) {
    if (!truths[truth ? 1 : 0]) out.push_back(json::object{{"type", "boolean"}, {"enum", json::array{truth}}});
  }
  if (!null) out.push_back(json::object{{"type", "null"}});
  if (!lists) out.push_back(json::object{{"type", "array"}});
  if (!objects) out.push_back(json::object{{"type", "object"}});
}

void AddOtherTypes(const std::vector<std::string_view>& types, json::array& ways) {
  json::array out;
  const auto has = [&](std::string_view type) { return std::ranges::find(types, type) != types.end(); };
  for (const std::string_view type : {"object", "array", "string", "number", "boolean", "null"}) {
    if (!has(type) && !(type == "number" && has("integer"))) out.push_back(json::value(type));
  }
  if (!out.empty()) ways.push_back(json::object{{"type", std::move(out)}});
  if (has("integer")) {
    ways.push_back(json::object{{"type", "number"}, {"not", json::object{{"type", "integer"}}}});
  }
}

// Numbers or counts beyond a bound.
struct Opposite {
  std::string_view keyword;
  std::string_view type;
  std::string_view other;
  int32_t step;  // for counts: the distance of the other bound from this one
};
constexpr Opposite kOpposites[] = {
    {"minLength", "string", "maxLength", -1},
    {"maxLength", "string", "minLength", 1},
    {"minItems", "array", "maxItems", -1},
    {"maxItems", "array", "minItems", 1},
    {"minProperties", "object", "maxProperties", -1},
    {"maxProperties", "object", "minProperties", 1},
    {"minimum", "number", "exclusiveMaximum", 0},
    {"maximum", "number", "exclusiveMinimum", 0},
    {"exclusiveMinimum", "number", "maximum", 0},
    {"exclusiveMaximum", "number", "minimum", 0},
};

}  // namespace

bool SchemaCompiler::HasSugar(const Object& schema) {
  return std::ranges::any_of(kSugar, [&](std::string_view keyword) {
    return schema.contains(keyword) && !(keyword == "not" && KeepsNot(schema));
  });
}

// The same schema without these keywords.
Result<json::object> SchemaCompiler::WithoutSugar(const Object& schema, const Place& at) const {
  Object out;
  Array all;
  for (const auto& [keyword, value] : schema) {
    if (keyword == "allOf") {
      if (!value.is_array() || value.get_array().empty())
        return Wrong(at.At("allOf"), "must be a list of schemas, and not empty");
      all = value.get_array();
    } else if (std::ranges::find(kSugar, std::string_view(keyword)) == std::end(kSugar) ||
               (keyword == "not" && KeepsNot(schema))) {
      out[keyword] = value;
    }
  }
  if (const Value* condition = schema.if_contains("if")) {
    auto otherwise = Negation(*condition, at.At("if"));
    if (!otherwise) return Forward(otherwise);
    Array first{*condition}, second{std::move(*otherwise)};
    if (const Value* then = schema.if_contains("then")) first.push_back(*then);
    if (const Value* other = schema.if_contains("else")) second.push_back(*other);
    all.push_back(Object{{"anyOf", Array{Object{{"allOf", std::move(first)}}, Object{{"allOf", std::move(second)}}}}});
  }
  if (const Value* never = schema.if_contains("not"); never != nullptr && !out.contains("not")) {
    auto negation = Negation(*never, at.At("not"));
    if (!negation) return Forward(negation);
    all.push_back(std::move(*negation));
  }
  for (const std::string_view keyword : {"dependencies", "dependentRequired", "dependentSchemas"}) {
    const Value* needs = schema.if_contains(keyword);
    if (needs == nullptr) continue;
    if (!needs->is_object()) return Wrong(at.At(keyword), "must be an object");
    for (const auto& [name, needed] : needs->get_object()) {
      const Object absent{{"properties", Object{{name, false}}}};
      Array present{Object{{"required", Array{Value(name)}}}};
      present.push_back(needed.is_array() ? Value(Object{{"required", needed}}) : needed);
      all.push_back(Object{{"anyOf", Array{absent, Object{{"allOf", std::move(present)}}}}});
    }
  }
  if (!all.empty()) out["allOf"] = std::move(all);
  return out;
}

// A schema for documents that are invalid under `schema`: it covers all of them but a few. It omits arrays and objects
// if one is listed, and documents that match more than one alternative of a oneOf.
Result<json::value> SchemaCompiler::Negation(const Value& schema, const Place& at) const {
  if (HoldsAlways(schema)) return Value(false);
  if (schema == false) return Value(true);
  if (!schema.is_object()) return Wrong(at, "a schema must be an object, true or false");
  if (at.depth > kMaxNegationDepth || ++negations_ > kMaxNegations) {
    return Wrong(at, "what 'not', 'if' or 'oneOf' excludes is too large a schema");
  }
  const Object& keywords = schema.get_object();
  if (auto known = CheckKeywords(keywords, at); !known) return Forward(known);
  const Place below{.path = at.path, .depth = at.depth + 1};
  if (keywords.contains("nullable")) {
    Object rest = keywords;
    rest.erase("nullable");
    auto others = Negation(rest, below);
    if (!others || keywords.at("nullable") != true) return others;
    const Object not_null{{"type", Array{"object", "array", "string", "number", "boolean"}}};
    return Value(Object{{"allOf", Array{std::move(*others), not_null}}});
  }
  if (std::ranges::any_of(kConditions, [&](std::string_view keyword) { return keywords.contains(keyword); })) {
    auto plain = WithoutSugar(keywords, at);
    if (!plain) return Forward(plain);
    return Negation(*plain, below);
  }
  Array out;
  std::string_view left_out;  // a keyword whose violations cannot be generated
  for (const auto& [keyword, value] : keywords) {
    if (IsAnnotation(keyword) || keyword == "then" || keyword == "else") continue;
    const size_t ways = out.size();
    if (auto added = AddNegation(keyword, value, keywords, at, out); !added) return Forward(added);
    if (out.size() == ways && IsHardToViolate(keyword, value)) left_out = keyword;
  }
  Array ways;
  for (Value& way : out) {
    if (HoldsAlways(way)) return Value(true);
    if (way != false) ways.push_back(std::move(way));
  }
  if (ways.empty() && !left_out.empty()) {
    return Wrong(at.At(left_out), "what '{}' excludes cannot be expressed under 'not', 'if' or 'oneOf'", left_out);
  }
  if (ways.empty()) return Value(false);
  if (ways.size() == 1) return std::move(ways[0]);
  return Value(Object{{"anyOf", std::move(ways)}});
}

// The documents that one keyword excludes.
Status SchemaCompiler::AddNegation(std::string_view keyword, const Value& value, const Object& schema, const Place& at,
                                   Array& out) const {
  const Place place = at.At(keyword);
  const auto negate = [&](const Value& part) { return Negation(part, place); };
  const auto negate_each = [&](Array& ways) -> Status {
    if (!value.is_array()) return Wrong(place, "must be a list of schemas");
    for (const Value& part : value.get_array()) {
      auto way = negate(part);
      if (!way) return Forward(way);
      ways.push_back(std::move(*way));
    }
    return {};
  };
  if (const auto* opposite = std::ranges::find(kOpposites, keyword, &Opposite::keyword);
      opposite != std::end(kOpposites) && value.is_number()) {
    Value bound = value;
    if (opposite->step != 0) {
      const auto count = CountOf(schema, keyword, at);
      if (!count) return Forward(count);
      const int64_t other = int64_t{**count} + opposite->step;
      if (other < 0) return {};
      bound = other;
    }
    out.push_back(Object{{"type", opposite->type}, {opposite->other, bound}});
    return {};
  }
  if (keyword == "type") {
    const auto types = TypesOf(schema, at);
    if (!types) return Forward(types);
    AddOtherTypes(*types, out);
  } else if (keyword == "enum" && value.is_array()) {
    AddOthers(value.get_array(), out);
  } else if (keyword == "const") {
    AddOthers({value}, out);
  } else if (keyword == "pattern" && value.is_string()) {
    out.push_back(Object{{"type", "string"}, {"not", Object{{"pattern", value}}}});
  } else if (keyword == "required" && value.is_array()) {
    for (const Value& name : value.get_array()) {
      if (!name.is_string()) return Wrong(place, "must be a list of names");
      out.push_back(Object{{"type", "object"}, {"properties", Object{{name.get_string(), false}}}});
    }
  } else if (keyword == "properties" && value.is_object()) {
    for (const auto& [name, own] : value.get_object()) {
      auto way = Negation(own, place.At(name));
      if (!way) return Forward(way);
      if (*way == false) continue;
      out.push_back(Object{
          {"type", "object"}, {"properties", Object{{name, std::move(*way)}}}, {"required", Array{Value(name)}}});
    }
  } else if (keyword == "not") {
    out.push_back(value);
  } else if (keyword == "allOf") {
    return negate_each(out);
  } else if (keyword == "anyOf" || keyword == "oneOf") {
    Array none;
    if (auto negated = negate_each(none); !negated) return negated;
    out.push_back(Object{{"allOf", std::move(none)}});
  } else if (keyword == "$ref") {
    auto target = Resolve(value, at);
    if (!target) return Forward(target);
    auto way = negate(**target);
    if (!way) return Forward(way);
    out.push_back(std::move(*way));
  } else if (keyword == "multipleOf") {
    out.push_back(Object{{"type", "number"}, {"not", Object{{"multipleOf", value}}}});
  } else if (keyword == "format" && value.is_string()) {
    const StringFormat format = FindFormat(value.get_string());
    if (format.known && format.pattern.empty()) return {};
    out.push_back(Object{{"type", "string"}, {"not", Object{{"format", value}}}});
  } else if (keyword == kAllPatterns && value.is_array()) {
    for (const Value& pattern : value.get_array()) {
      out.push_back(Object{{"type", "string"}, {"not", Object{{"pattern", pattern}}}});
    }
  } else if (TypeOfKeyword(keyword) == "array") {
    return AddListNegation(keyword, value, schema, at, out);
  } else if (TypeOfKeyword(keyword) == "object") {
    return AddMemberNegation(keyword, value, schema, at, out);
  } else {
    return Wrong(place, "what '{}' excludes cannot be expressed under 'not', 'if' or 'oneOf'", keyword);
  }
  return {};
}

Status SchemaCompiler::AddListNegation(std::string_view keyword, const Value& value, const Object& schema,
                                       const Place& at, Array& out) const {
  const Place place = at.At(keyword);
  const auto items = ItemsOf(schema, at);
  if (!items) return Forward(items);
  if (keyword == items->named_keyword) {
    Array before;
    for (size_t i = 0; i < items->named_count(); ++i) {
      auto other = Negation((*items->named)[i], at.At(keyword, i));
      if (!other) return Forward(other);
      Array prefix = before;
      prefix.push_back(std::move(*other));
      if (prefix.back() != false) {
        out.push_back(
            Object{{"type", "array"}, {"prefixItems", std::move(prefix)}, {"items", true}, {"minItems", i + 1}});
      }
      before.push_back(true);
    }
    return {};
  }
  const auto add_some = [&](const Value& excluded) -> Status {
    auto other = Negation(excluded, place);
    if (!other) return Forward(other);
    if (*other != false) out.push_back(Object{{"type", "array"}, {kSomeItems, Array{std::move(*other)}}});
    return {};
  };
  const auto add_none = [&](const Value& wanted) -> Status {
    auto other = Negation(wanted, place);
    if (!other) return Forward(other);
    out.push_back(Object{{"type", "array"}, {"items", std::move(*other)}});
    return {};
  };
  if (keyword == items->rest_keyword && items->named_count() == 0) return add_some(value);
  if (keyword == "contains" && !schema.contains("minContains") && !schema.contains("maxContains")) {
    return add_none(value);
  }
  if (keyword != kSomeItems || !value.is_array()) return {};
  for (const Value& wanted : value.get_array()) {
    if (auto added = add_none(wanted); !added) return added;
  }
  return {};
}

Status SchemaCompiler::AddMemberNegation(std::string_view keyword, const Value& value, const Object& schema,
                                         const Place& at, Array& out) const {
  const Place place = at.At(keyword);
  const auto add = [&](Value names, const Value& excluded, const Place& where) -> Status {
    auto other = Negation(excluded, where);
    if (!other) return Forward(other);
    if (*other == false) return {};
    Object member{{"names", std::move(names)}, {"value", std::move(*other)}};
    out.push_back(Object{{"type", "object"}, {kSomeMembers, Array{std::move(member)}}});
    return {};
  };
  const Value* patterns = schema.if_contains("patternProperties");
  const bool has_patterns = patterns != nullptr && patterns->is_object();
  if (keyword == "propertyNames") return add(Object{{"not", value}}, false, place);
  if (keyword == "patternProperties" && has_patterns) {
    for (const auto& [pattern, own] : patterns->get_object()) {
      if (auto added = add(Object{{"pattern", pattern}}, own, place.At(pattern)); !added) return added;
    }
    return {};
  }
  if (keyword == "additionalProperties") {
    Array all;
    const Value* properties = schema.if_contains("properties");
    if (properties != nullptr && properties->is_object()) {
      Array names;
      for (const auto& [name, own] : properties->get_object()) names.push_back(Value(name));
      all.push_back(Object{{"not", Object{{"enum", std::move(names)}}}});
    }
    if (has_patterns) {
      for (const auto& [pattern, own] : patterns->get_object()) {
        all.push_back(Object{{"not", Object{{"pattern", pattern}}}});
      }
    }
    return add(all.empty() ? Value(true) : Value(Object{{"allOf", std::move(all)}}), value, place);
  }
  return {};
}

}  // namespace inferflux::text
