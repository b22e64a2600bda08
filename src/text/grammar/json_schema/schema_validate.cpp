// Validates a value under a schema: decides which values of an enum remain beside other keywords.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/work_budget/work_budget.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/string_formats.h"
#include "text/grammar/json_schema/types/decimal.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr fmt::format_string<std::string_view&> kCannotHold =
    "'{}' beside a list of values is not supported: list the values that it allows";

size_t CharactersOf(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) at += unicode::DecodeUtf8(text, at).size;
  return count;
}

// As in JSON Schema: 1 and 1.0 are the same number.
bool Same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number() && (a.is_double() || b.is_double())) {
    return a.to_number<double>() == b.to_number<double>();
  }
  if (a.is_array() && b.is_array()) return std::ranges::equal(a.get_array(), b.get_array(), Same);
  if (a.is_object() && b.is_object()) {
    const json::object &left = a.get_object(), &right = b.get_object();
    return left.size() == right.size() && std::ranges::all_of(left, [&](const auto& entry) {
             const json::value* other = right.if_contains(entry.key());
             return other != nullptr && Same(entry.value(), *other);
           });
  }
  return a == b;
}

bool IsListed(const json::array& list, const json::value& value) {
  return std::ranges::any_of(list, [&](const json::value& item) { return Same(item, value); });
}

}  // namespace

bool IsOfType(const json::value& value, std::string_view type) {
  if (type == "number") return value.is_number();
  if (type == "integer") {
    return value.is_int64() || value.is_uint64() ||
           (value.is_double() && value.get_double() == std::floor(value.get_double()));
  }
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  return type == "object" ? value.is_object() : value.is_array();
}

Result<bool> SchemaCompiler::Holds(const Value& schema, const Value& value, const Place& at) const {
  if (schema.is_bool()) return schema.get_bool();
  if (!schema.is_object()) return Wrong(at, "a schema must be an object, true or false");
  if (at.depth > kMaxSchemaDepth || ++checks_ > kMaxChecks) return Wrong(at, "too much to hold listed values to");
  if (Status on_time = WorkBudget::Check(8); !on_time) return Forward(on_time);
  const Object& keywords = schema.get_object();
  if (auto known = CheckKeywords(keywords, at); !known) return Forward(known);
  if (const Value* nullable = keywords.if_contains("nullable"); nullable != nullptr && *nullable == true) {
    if (value.is_null()) return true;
  }
  for (const auto& [keyword, content] : keywords) {
    if (IsAnnotation(keyword)) continue;
    auto held = HoldsKeyword(keyword, content, keywords, value, at);
    if (!held || !*held) return held;
  }
  return true;
}

Result<bool> SchemaCompiler::HoldsKeyword(std::string_view keyword, const Value& content, const Object& schema,
                                          const Value& value, const Place& at) const {
  const Place place = at.At(keyword);
  const auto count_holding = [&]() -> Result<size_t> {
    if (!content.is_array()) return Wrong(place, "must be a list of schemas");
    size_t holding = 0;
    for (const Value& each : content.get_array()) {
      const auto held = Holds(each, value, place);
      if (!held) return Forward(held);
      holding += *held ? 1 : 0;
    }
    return holding;
  };
  const auto count_within = [&](bool speaks, size_t size) -> Result<bool> {
    const auto bound = CountOf(schema, keyword, at);
    if (!bound) return Forward(bound);
    return !speaks || (keyword.starts_with("min") ? size >= **bound : size <= **bound);
  };
  if (keyword == "type") {
    const auto types = TypesOf(schema, at);
    if (!types) return Forward(types);
    return std::ranges::any_of(*types, [&](std::string_view type) { return IsOfType(value, type); });
  }
  if (keyword == "enum" && content.is_array()) return IsListed(content.get_array(), value);
  if (keyword == "const") return Same(content, value);
  if (keyword == "not") return Holds(content, value, place).map([](bool held) { return !held; });
  if (keyword == "allOf") return count_holding().map([&](size_t n) { return n == content.get_array().size(); });
  if (keyword == "anyOf") return count_holding().map([](size_t n) { return n > 0; });
  if (keyword == "oneOf") return count_holding().map([](size_t n) { return n == 1; });
  if (keyword == "$ref") {
    auto target = Resolve(content, at);
    if (!target) return Forward(target);
    return Holds(**target, value, place);
  }
  if (keyword == "minLength" || keyword == "maxLength") {
    return count_within(value.is_string(), value.is_string() ? CharactersOf(value.get_string()) : 0);
  }
  if (keyword == "minItems" || keyword == "maxItems") {
    return count_within(value.is_array(), value.is_array() ? value.get_array().size() : 0);
  }
  if (keyword == "minProperties" || keyword == "maxProperties") {
    return count_within(value.is_object(), value.is_object() ? value.get_object().size() : 0);
  }
  if (keyword == "pattern" && content.is_string()) {
    if (!value.is_string()) return true;
    const auto texts = TextsOf(content.get_string(), place);
    if (!texts) return Forward(texts);
    return (*texts)->Matches(value.get_string());
  }
  if (keyword.starts_with("exclusive") && content.is_bool()) {  // draft 4
    const Value* bound = schema.if_contains(keyword == "exclusiveMinimum" ? "minimum" : "maximum");
    if (content == false || bound == nullptr || !bound->is_number() || !value.is_number()) return true;
    return bound->to_number<double>() != value.to_number<double>();
  }
  if (content.is_number() && (keyword == "minimum" || keyword == "maximum" || keyword.starts_with("exclusive"))) {
    if (!value.is_number()) return true;
    const double bound = content.to_number<double>(), number = value.to_number<double>();
    if (keyword == "minimum") return number >= bound;
    if (keyword == "maximum") return number <= bound;
    return keyword == "exclusiveMinimum" ? number > bound : number < bound;
  }
  if (keyword == "multipleOf" && content.is_number()) {
    if (!value.is_number()) return true;
    const auto multiple = IsMultiple(value, content);
    if (!multiple) return Wrong(place, "too many digits to compare with a listed value");
    return *multiple;
  }
  if (keyword == "format" && content.is_string()) {
    const StringFormat format = FindFormat(content.get_string());
    if (!value.is_string() || (format.known && format.pattern.empty())) return true;
    if (!format.known) return Wrong(place, "the format '{}' is not supported", std::string_view(content.get_string()));
    const auto texts = TextsOf("^(?:" + format.pattern + ")$", place),
               form = TextsOf("^(?:" + format.form + ")$", place);
    if (!texts) return Forward(texts);
    if (!form) return Forward(form);
    const bool matches = (*texts)->Matches(value.get_string());
    if (matches == (*form)->Matches(value.get_string())) return matches;
    return Wrong(place, "cannot tell whether a listed value has this format");
  }
  if (keyword == "if") {
    auto held = Holds(content, value, place);
    if (!held) return held;
    const Value* next = schema.if_contains(*held ? "then" : "else");
    return next == nullptr ? true : Holds(*next, value, at.At(*held ? "then" : "else"));
  }
  if (keyword == "then" || keyword == "else" || keyword == "nullable") return true;
  if (keyword == kAllPatterns && content.is_array()) {
    for (const Value& pattern : content.get_array()) {
      auto held = HoldsKeyword("pattern", pattern, schema, value, at);
      if (!held || !*held) return held;
    }
    return true;
  }
  const std::string_view type = TypeOfKeyword(keyword);
  if (type == "object")
    return value.is_object() ? HoldsForObject(keyword, content, schema, value.get_object(), at) : true;
  if (type == "array") return value.is_array() ? HoldsForArray(keyword, content, schema, value.get_array(), at) : true;
  return Wrong(place, kCannotHold, keyword);
}

Result<bool> SchemaCompiler::HoldsForObject(std::string_view keyword, const Value& content, const Object& schema,
                                            const Object& value, const Place& at) const {
  const Place place = at.At(keyword);
  const auto has = [&](const Value& name) { return name.is_string() && value.contains(name.get_string()); };
  if (keyword == "required" && content.is_array()) return std::ranges::all_of(content.get_array(), has);
  if (keyword == "properties" && content.is_object()) {
    for (const auto& [name, own] : content.get_object()) {
      const Value* member = value.if_contains(name);
      if (member == nullptr) continue;
      auto held = Holds(own, *member, place.At(name));
      if (!held || !*held) return held;
    }
    return true;
  }
  if (keyword == "patternProperties" || keyword == "additionalProperties") {
    const auto patterns = NamePatterns(schema, at);
    if (!patterns) return Forward(patterns);
    const Value* properties = schema.if_contains("properties");
    for (const auto& [name, member] : value) {
      bool is_named = properties != nullptr && properties->is_object() && properties->get_object().contains(name);
      for (const NamePattern& pattern : *patterns) {
        if (!pattern.names.Matches(name)) continue;
        is_named = true;
        if (keyword != "patternProperties") continue;
        auto held = Holds(*pattern.schema, member, place);
        if (!held || !*held) return held;
      }
      if (is_named || keyword == "patternProperties") continue;
      auto held = Holds(content, member, place);
      if (!held || !*held) return held;
    }
    return true;
  }
  if (keyword == "propertyNames") {
    for (const auto& [name, member] : value) {
      auto held = Holds(content, Value(name), place);
      if (!held || !*held) return held;
    }
    return true;
  }
  if ((keyword == "dependentRequired" || keyword == "dependentSchemas" || keyword == "dependencies") &&
      content.is_object()) {
    for (const auto& [name, needed] : content.get_object()) {
      if (!value.contains(name)) continue;
      if (needed.is_array()) {
        if (!std::ranges::all_of(needed.get_array(), has)) return false;
        continue;
      }
      auto held = Holds(needed, Value(value), place.At(name));
      if (!held || !*held) return held;
    }
    return true;
  }
  if (keyword == kSomeMembers && content.is_array()) {
    for (const Value& wanted : content.get_array()) {
      if (!wanted.is_object() || !wanted.get_object().contains("names") || !wanted.get_object().contains("value")) {
        return Wrong(at, "must be a list of names and values");
      }
      const auto names = TextsUnder(wanted.at("names"), Exactness::kAtMost, at);
      if (!names) return Forward(names);
      bool found = false;
      for (const auto& [name, member] : value) {
        if (found || !names->Matches(name)) continue;
        const auto held = Holds(wanted.at("value"), member, at.At(name));
        if (!held) return held;
        found = *held;
      }
      if (!found) return false;
    }
    return true;
  }
  return Wrong(place, kCannotHold, keyword);
}

Result<bool> SchemaCompiler::HoldsForArray(std::string_view keyword, const Value& content, const Object& schema,
                                           const Array& value, const Place& at) const {
  const Place place = at.At(keyword);
  if (keyword == "uniqueItems") {
    if (content == false) return true;
    for (size_t i = 0; i < value.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (++checks_ > kMaxChecks) return Wrong(at, "too much to hold listed values to");
        if (Same(value[i], value[j])) return false;
      }
    }
    return true;
  }
  const auto matching = [&](const Value& wanted) -> Result<size_t> {
    size_t count = 0;
    for (const Value& item : value) {
      const auto held = Holds(wanted, item, place);
      if (!held) return Forward(held);
      count += *held ? 1 : 0;
    }
    return count;
  };
  if (keyword == "contains") {
    const auto least = CountOf(schema, "minContains", at), most = CountOf(schema, "maxContains", at);
    if (!least) return Forward(least);
    if (!most) return Forward(most);
    return matching(content).map(
        [&](size_t count) { return count >= least->value_or(1) && count <= most->value_or(kUnbounded); });
  }
  if (keyword == kSomeItems && content.is_array()) {
    for (const Value& wanted : content.get_array()) {
      const auto count = matching(wanted);
      if (!count) return Forward(count);
      if (*count == 0) return false;
    }
    return true;
  }
  if (keyword == "minContains" || keyword == "maxContains") return true;
  const auto items = ItemsOf(schema, at);
  if (!items) return Forward(items);
  const size_t named = items->named_count();
  if (keyword == items->named_keyword) {
    for (size_t i = 0; i < std::min(named, value.size()); ++i) {
      auto held = Holds((*items->named)[i], value[i], at.At(keyword, i));
      if (!held || !*held) return held;
    }
    return true;
  }
  if (keyword == items->rest_keyword) {
    for (size_t i = named; i < value.size(); ++i) {
      auto held = Holds(content, value[i], place);
      if (!held || !*held) return held;
    }
    return true;
  }
  if (keyword == "additionalItems") return true;
  return Wrong(place, kCannotHold, keyword);
}

}  // namespace inferflux::text
