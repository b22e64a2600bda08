// anyOf, oneOf, enum and const.
#include <algorithm>

#include "base/work_budget/work_budget.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/schema_merge.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxDepthApart = 8;

// The values that a schema lists by enum or const; empty if it lists none.
json::array ListedValues(const json::object& schema) {
  if (const auto* constant = schema.if_contains("const")) return {*constant};
  const auto* listed = schema.if_contains("enum");
  return listed != nullptr && listed->is_array() ? listed->get_array() : json::array();
}

bool TypesMeet(std::string_view a, std::string_view b) {
  return a == b || (a == "integer" && b == "number") || (a == "number" && b == "integer");
}

bool Lists(const json::value* list, std::string_view name) {
  return list != nullptr && list->is_array() &&
         std::ranges::find(list->get_array(), json::value(name)) != list->get_array().end();
}

const json::value* Property(const json::object& schema, std::string_view name) {
  const json::value* properties = schema.if_contains("properties");
  return properties != nullptr && properties->is_object() ? properties->get_object().if_contains(name) : nullptr;
}

}  // namespace

// The keywords beside anyOf or oneOf apply to each alternative.
Result<Expr> SchemaCompiler::Alternatives(const Object& schema, std::string_view keyword, const Place& at) {
  const Value& list = schema.at(keyword);
  if (!list.is_array() || list.get_array().empty())
    return Wrong(at.At(keyword), "must be a list of schemas, and not empty");
  Object rest;
  for (const auto& [key, value] : schema) {
    if (key != keyword && !IsAnnotation(key)) rest[key] = value;
  }
  const Array& ways = list.get_array();
  std::vector<Expr> out;
  for (size_t i = 0; i < ways.size(); ++i) {
    const Place place = at.At(keyword, i);
    Array held = {ways[i]};  // together with the negation of every other alternative that may overlap
    for (size_t j = 0; keyword == "oneOf" && j < ways.size(); ++j) {
      if (i == j || Apart(ways[j], ways[i], place, 0)) continue;
      auto others = Negation(ways[j], at.At(keyword, j));
      if (!others) {
        return Wrong(place,
                     "oneOf needs alternatives of which one at most can hold, and this one and number {} are not told "
                     "apart by a type, or by a required property with its own const ({}); use anyOf",
                     j, others.error().message);
      }
      held.push_back(std::move(*others));
    }
    const Value alone = held.size() == 1 ? ways[i] : Value(Object{{"allOf", std::move(held)}});
    Result<Expr> way = Nothing();
    if (rest.empty() || !alone.is_object()) {
      way = Any(alone, place);
      if (alone == true) way = AnyObject(rest, at);
    } else {
      auto flat = Flatten(alone.get_object(), place, 0);
      if (!flat) return Forward(flat);
      if (auto closed = CloseWithin(*flat, place); !closed) return Forward(closed);
      auto merged = MergeSchemas(rest, *flat, place.path);
      if (!merged) return Forward(merged);
      way = AnyObject(*merged, {.path = place.path, .depth = place.depth + 1});
    }
    if (!way) return way;
    out.push_back(std::move(*way));
  }
  return Choice(std::move(out));
}

// Whether no document generated for one of them is valid under the other.
bool SchemaCompiler::Apart(const Value& a, const Value& b, const Place& at, size_t depth) const {
  if (a == false || b == false) return true;
  if (!a.is_object() || !b.is_object() || depth == kMaxDepthApart) return false;
  if (WorkBudget::Spent(16)) return false;
  const auto left = Flatten(a.get_object(), at, 0), right = Flatten(b.get_object(), at, 0);
  if (!left || !right) return false;
  const json::array ours = ListedValues(*left), theirs = ListedValues(*right);
  if (!ours.empty() && !theirs.empty()) {
    return std::ranges::none_of(ours, [&](const Value& value) {
      return !WorkBudget::Spent(static_cast<uint32_t>(theirs.size())) &&
             std::ranges::find(theirs, value) != theirs.end();
    });
  }
  // Only types that a schema names exclude others; types implied by its keywords only limit what is generated.
  const auto left_types = TypesOf(*left, at), right_types = TypesOf(*right, at);
  if (!left_types || !right_types) return false;
  const auto takes = [&](const Object& schema, const std::vector<std::string_view>& types, std::string_view type) {
    return !schema.contains("type") ||
           std::ranges::any_of(types, [&](std::string_view own) { return TypesMeet(own, type); });
  };
  const auto none_fits = [&](const json::array& values, const Object& schema,
                             const std::vector<std::string_view>& types) {
    return !values.empty() && schema.contains("type") && std::ranges::none_of(values, [&](const Value& value) {
      return std::ranges::any_of(types, [&](std::string_view type) { return IsOfType(value, type); });
    });
  };
  if (none_fits(ours, *right, *right_types) || none_fits(theirs, *left, *left_types)) return true;
  if (left_types->empty() || right_types->empty()) return false;
  std::vector<std::string_view> common;
  for (const auto type : *left_types) {
    if (takes(*right, *right_types, type)) common.push_back(type);
  }
  for (const auto type : *right_types) {
    if (takes(*left, *left_types, type) && std::ranges::find(common, type) == common.end()) common.push_back(type);
  }
  if (common.empty()) return true;
  if (common != std::vector<std::string_view>{"object"}) return false;
  const Value* required = left->if_contains("required");
  if (required != nullptr && required->is_array()) {
    for (const Value& name : required->get_array()) {
      if (!name.is_string() || !Lists(right->if_contains("required"), name.get_string())) continue;
      const Value* one = Property(*left, name.get_string());
      const Value* other = Property(*right, name.get_string());
      if (one != nullptr && other != nullptr && Apart(*one, *other, at, depth + 1)) return true;
    }
  }
  return Misses(*left, *right) && Misses(*right, *left);
}

// Whether an object generated for `a` never has everything that `b` requires.
bool SchemaCompiler::Misses(const Object& a, const Object& b) const {
  const Value* required = b.if_contains("required");
  const Value* additional = a.if_contains("additionalProperties");
  const bool closed =
      additional == nullptr ? a.contains("properties") && !a.contains("unevaluatedProperties") : *additional == false;
  if (!closed || a.contains("patternProperties") || required == nullptr || !required->is_array()) return false;
  return std::ranges::any_of(required->get_array(), [&](const Value& name) {
    return name.is_string() && Property(a, name.get_string()) == nullptr &&
           !Lists(a.if_contains("required"), name.get_string());
  });
}

Result<Expr> SchemaCompiler::Constants(const Object& schema, const Place& at) {
  const bool is_const = schema.contains("const");
  const std::string_view keyword = is_const ? "const" : "enum";
  const Value& listed = schema.at(keyword);
  if (!is_const && (!listed.is_array() || listed.get_array().empty())) {
    return Wrong(at.At(keyword), "must be a list of values, and not empty");
  }
  // The values are checked against the rest of the schema. It is copied once, without the list: a check against the
  // list itself would compare every value with all others.
  Object rest = schema;
  rest.erase(keyword);
  const Value others(std::move(rest));
  std::vector<Expr> ways;
  for (const Value& value : ListedValues(schema)) {
    const auto fits = Holds(others, value, at);
    if (!fits) return Forward(fits);
    if (!*fits) continue;
    auto way = Placed(json_.Constant(value), at.At(keyword));
    if (!way) return way;
    ways.push_back(std::move(*way));
  }
  return Choice(std::move(ways));
}

}  // namespace inferflux::text
