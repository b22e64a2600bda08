#include "text/grammar/json_schema/schema_merge.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <numeric>
#include <utility>

#include "text/grammar/json_schema/schema_keywords.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxPairs = 64;

tl::unexpected<Error> CannotMerge(std::string_view keyword, const std::string& path) {
  return Fail(ErrorCode::kUnsupported,
              "at #{}: two schemas that must both hold have different '{}', and cannot be combined", path, keyword);
}

json::array TypesOf(const json::value& type) { return type.is_array() ? type.get_array() : json::array{type}; }

bool Contains(const json::array& list, const json::value& item) { return std::ranges::find(list, item) != list.end(); }

// An integer is a number too.
json::value MergeTypes(const json::value& a, const json::value& b) {
  const json::array left = TypesOf(a), right = TypesOf(b);
  json::array both;
  for (const auto& type : left) {
    if (Contains(right, type) || (type == "integer" && Contains(right, "number"))) both.push_back(type);
  }
  for (const auto& type : right) {
    if (type == "integer" && !Contains(left, type) && Contains(left, "number")) both.push_back(type);
  }
  return both;
}

json::value MergeLists(const json::array& a, const json::array& b, bool in_both) {
  json::array out;
  for (const auto& item : a) {
    if (!in_both || Contains(b, item)) out.push_back(item);
  }
  for (const auto& item : b) {
    if (!in_both && !Contains(a, item)) out.push_back(item);
  }
  return out;
}

json::value MergeProperties(const json::object& a, const json::object& b) {
  json::object out = a;
  for (const auto& [name, schema] : b) {
    const auto found = out.find(name);
    if (found == out.end()) {
      out[name] = schema;
    } else if (found->value() != schema) {
      found->value() = json::object{{"allOf", json::array{found->value(), schema}}};
    }
  }
  return out;
}

// The two values of a keyword that both schemas have, if they differ.
Result<json::value> MergeValues(std::string_view keyword, const json::value& a, const json::value& b,
                                const std::string& path) {
  if (keyword == "type") return MergeTypes(a, b);
  if (keyword == "required" && a.is_array() && b.is_array()) return MergeLists(a.get_array(), b.get_array(), false);
  if (keyword == "enum" && a.is_array() && b.is_array()) return MergeLists(a.get_array(), b.get_array(), true);
  if ((keyword == "properties" || keyword == "patternProperties") && a.is_object() && b.is_object())
    return MergeProperties(a.get_object(), b.get_object());
  if (a.is_number() && b.is_number()) {
    const bool greater = a.to_number<double>() > b.to_number<double>();
    if (keyword.starts_with("min") || keyword == "exclusiveMinimum") return greater ? a : b;
    if (keyword.starts_with("max") || keyword == "exclusiveMaximum") return greater ? b : a;
  }
  if (keyword == "not") return json::object{{"anyOf", json::array{a, b}}};
  if (keyword == "anyOf" && a.is_array() && b.is_array() && a.get_array().size() * b.get_array().size() <= kMaxPairs) {
    json::array pairs;
    for (const auto& one : a.get_array()) {
      for (const auto& other : b.get_array()) pairs.push_back(json::object{{"allOf", json::array{one, other}}});
    }
    return pairs;
  }
  if (keyword == "multipleOf" && a.is_int64() && b.is_int64() && a.get_int64() > 0 && b.get_int64() > 0 &&
      std::max(a.get_int64(), b.get_int64()) < 1'000'000) {
    return std::lcm(a.get_int64(), b.get_int64());
  }
  if (keyword == "items" && !a.is_array() && !b.is_array()) return json::object{{"allOf", json::array{a, b}}};
  return CannotMerge(keyword, path);
}

// additionalProperties applies to what its own schema names neither by properties nor by patternProperties.
Status CheckAdditional(const json::object& a, const json::object& b, const std::string& path) {
  const json::value* additional = a.if_contains("additionalProperties");
  if (additional == nullptr || *additional == true) return {};
  const json::value* patterns = b.if_contains("patternProperties");
  const json::value* own_patterns = a.if_contains("patternProperties");
  if (patterns != nullptr && (own_patterns == nullptr || *own_patterns != *patterns)) {
    return CannotMerge("patternProperties", path);
  }
  const json::value* others = b.if_contains("properties");
  if (others == nullptr || !others->is_object()) return {};
  const json::value* own = a.if_contains("properties");
  for (const auto& [name, schema] : others->get_object()) {
    if (schema == false) continue;  // `b` does not require it either
    if (own == nullptr || !own->is_object() || !own->get_object().contains(name)) {
      return CannotMerge("additionalProperties", path);
    }
  }
  return {};
}

// items applies to what its own schema does not name by prefixItems; additionalItems to what its own items does not.
Status CheckItems(const json::object& a, const json::object& b, const std::string& path) {
  const json::value* items = a.if_contains("items");
  const json::value* other_items = b.if_contains("items");
  const bool same = items == nullptr ? other_items == nullptr : other_items != nullptr && *items == *other_items;
  if (a.contains("additionalItems") && !same) return CannotMerge("additionalItems", path);
  const json::value* prefix = b.if_contains("prefixItems");
  const json::value* own = a.if_contains("prefixItems");
  if (!a.contains("items") || prefix == nullptr || (own != nullptr && *own == *prefix)) return {};
  return CannotMerge("prefixItems", path);
}

}  // namespace

Result<json::object> MergeSchemas(const json::object& a, const json::object& b, const std::string& path) {
  if (auto checked = CheckAdditional(a, b, path); !checked) return Forward(checked);
  if (auto checked = CheckAdditional(b, a, path); !checked) return Forward(checked);
  if (auto checked = CheckItems(a, b, path); !checked) return Forward(checked);
  if (auto checked = CheckItems(b, a, path); !checked) return Forward(checked);
  json::object out;
  for (const auto& [keyword, value] : a) {
    if (!IsAnnotation(keyword)) out[keyword] = value;
  }
  for (const auto& [keyword, value] : b) {
    if (IsAnnotation(keyword)) continue;
    const auto found = out.find(keyword);
    if (found == out.end()) {
      out[keyword] = value;
    } else if (found->value() != value) {
      auto merged = MergeValues(keyword, found->value(), value, path);
      if (!merged) return Forward(merged);
      if (keyword == "enum" && *merged == json::array())
        return json::object{{"type", json::array()}};  // the intersection is empty
      found->value() = std::move(*merged);
    }
  }
  return out;
}

}  // namespace inferflux::text
