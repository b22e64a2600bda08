// Validates a value under a schema: decides which values of an enum remain beside other keywords.
#include <algorithm>
#include <cmath>

#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/regex_parser.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

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
  const Object& keywords = schema.get_object();
  if (auto known = CheckKeywords(keywords, at); !known) return Forward(known);
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
    const auto texts = NamesUnder(Object{{"pattern", content}}, at);
    if (!texts) return Forward(texts);
    return texts->Matches(value.get_string());
  }
  if (content.is_number() && (keyword == "minimum" || keyword == "maximum" || keyword.starts_with("exclusive"))) {
    if (!value.is_number()) return true;
    const double bound = content.to_number<double>(), number = value.to_number<double>();
    if (keyword == "minimum") return number >= bound;
    if (keyword == "maximum") return number <= bound;
    return keyword == "exclusiveMinimum" ? number > bound : number < bound;
  }
  if (keyword == "required" && content.is_array()) {
    return !value.is_object() || std::ranges::all_of(content.get_array(), [&](const Value& name) {
      return name.is_string() && value.get_object().contains(name.get_string());
    });
  }
  if (keyword == "properties" && content.is_object()) {
    if (!value.is_object()) return true;
    for (const auto& [name, own] : content.get_object()) {
      const Value* member = value.get_object().if_contains(name);
      if (member == nullptr) continue;
      auto held = Holds(own, *member, place.At(name));
      if (!held || !*held) return held;
    }
    return true;
  }
  if (keyword == "items" && !content.is_array() && !schema.contains("prefixItems")) {
    if (!value.is_array()) return true;
    for (const Value& item : value.get_array()) {
      auto held = Holds(content, item, place);
      if (!held || !*held) return held;
    }
    return true;
  }
  return Wrong(place, "'{}' beside a list of values is not supported: list the values that it allows", keyword);
}

}  // namespace inferflux::text
