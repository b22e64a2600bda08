#include "text/grammar/json_schema/schema_merge.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <numeric>
#include <utility>

#include "text/grammar/automaton/char_automaton.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/string_formats.h"
#include "text/grammar/json_schema/types/pattern_texts.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxPairs = 256;

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

json::value Both(const json::value& a, const json::value& b) {
  if (a == true || a == b) return b;
  if (b == true) return a;
  if (a == false || b == false) return false;
  return json::object{{"allOf", json::array{a, b}}};
}

// Whether the types that the schemas name tell them apart.
bool AreDisjoint(const json::value& a, const json::value& b) {
  if (a == false || b == false) return true;
  const json::value* left = a.is_object() ? a.get_object().if_contains("type") : nullptr;
  const json::value* right = b.is_object() ? b.get_object().if_contains("type") : nullptr;
  if (left == nullptr || right == nullptr) return false;
  if (a.get_object().contains("nullable") || b.get_object().contains("nullable")) return false;
  return MergeTypes(*left, *right).get_array().empty();
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
  if (keyword == "anyOf" && a.is_array() && b.is_array()) {
    json::array pairs;
    for (const auto& one : a.get_array()) {
      for (const auto& other : b.get_array()) {
        if (AreDisjoint(one, other)) continue;
        if (pairs.size() == kMaxPairs) return CannotMerge(keyword, path);
        pairs.push_back(json::object{{"allOf", json::array{one, other}}});
      }
    }
    if (pairs.empty()) pairs.push_back(false);
    return pairs;
  }
  if (keyword == "multipleOf" && a.is_int64() && b.is_int64() && a.get_int64() > 0 && b.get_int64() > 0 &&
      std::max(a.get_int64(), b.get_int64()) < 1'000'000) {
    return std::lcm(a.get_int64(), b.get_int64());
  }
  if (keyword == "additionalProperties" || keyword == "propertyNames") return Both(a, b);
  if (keyword == "uniqueItems" && a.is_bool() && b.is_bool()) return true;
  return CannotMerge(keyword, path);
}

const json::object& MembersOf(const json::object& schema, std::string_view keyword) {
  static const json::object kNone;
  const json::value* found = schema.if_contains(keyword);
  return found != nullptr && found->is_object() ? found->get_object() : kNone;
}

// additionalProperties applies to what its own schema names neither by properties nor by patternProperties: here, to
// members that only the other schema names. Adds what it says about them to `out`.
Status MergeAdditional(const json::object& a, const json::object& b, json::object& out, const std::string& path) {
  const json::value* additional = a.if_contains("additionalProperties");
  if (additional == nullptr || *additional == true) return {};
  const json::object& own = MembersOf(a, "properties");
  const json::object& own_patterns = MembersOf(a, "patternProperties");
  for (const auto& [pattern, schema] : MembersOf(b, "patternProperties")) {
    if (!own_patterns.contains(pattern)) return CannotMerge("patternProperties", path);
  }
  std::vector<CharAutomaton> patterns;
  for (const auto& [name, schema] : MembersOf(b, "properties")) {
    if (own.contains(name)) continue;
    if (patterns.empty()) {
      for (const auto& [pattern, ignored] : own_patterns) {
        const auto parsed = ParsePattern(pattern);
        auto texts = parsed ? CharAutomaton::Of(**parsed) : Result<CharAutomaton>(Forward(parsed));
        if (!texts) return Forward(texts, "at #" + path + "/patternProperties");
        patterns.push_back(std::move(*texts));
      }
    }
    if (std::ranges::any_of(patterns, [&](const CharAutomaton& texts) { return texts.Matches(name); })) continue;
    json::value& merged = out["properties"].get_object()[name];
    merged = Both(*additional, merged);
  }
  return {};
}

// ItemShape in the words of 2020-12.
struct ItemShape {
  json::array named;
  json::value rest = true;
  bool has_rest = false;

  explicit ItemShape(const json::object& schema) {
    const json::value* items = schema.if_contains("items");
    const bool is_tuple = items != nullptr && items->is_array();
    const json::value* prefix = is_tuple ? items : schema.if_contains("prefixItems");
    const json::value* others = is_tuple ? schema.if_contains("additionalItems") : items;
    if (prefix != nullptr && prefix->is_array()) named = prefix->get_array();
    has_rest = others != nullptr;
    if (has_rest) rest = *others;
  }
  const json::value& At(size_t i) const { return i < named.size() ? named[i] : rest; }
};

void MergeItems(const json::object& a, const json::object& b, json::object& out) {
  const ItemShape left(a), right(b);
  const size_t count = std::max(left.named.size(), right.named.size());
  for (const char* keyword : {"items", "prefixItems", "additionalItems"}) out.erase(keyword);
  json::array named;
  for (size_t i = 0; i < count; ++i) named.push_back(Both(left.At(i), right.At(i)));
  if (!named.empty()) out["prefixItems"] = std::move(named);
  if (left.has_rest || right.has_rest) out["items"] = Both(left.rest, right.rest);
}

// Keywords of which a schema has one, and both must hold: the second becomes a member of a list. False if they are no
// such keywords.
bool MergeIntoList(std::string_view keyword, const json::object& b, const json::value& value, json::object& out) {
  const auto append = [&](std::string_view list, json::value item) {
    json::value& all = out[list];
    if (!all.is_array()) all = json::array();
    all.get_array().push_back(std::move(item));
    return true;
  };
  if (keyword == "pattern" && value.is_string()) return append(kAllPatterns, value);
  if (keyword == "format" && value.is_string() && out.at("format").is_string()) {
    const StringFormat other = FindFormat(value.get_string()), own = FindFormat(out.at("format").get_string());
    if (!other.known || !own.known) return false;
    if (other.pattern.empty()) return true;
    if (own.pattern.empty()) {
      out["format"] = value;
      return true;
    }
    return append(kAllPatterns, json::value("^(?:" + other.pattern + ")$"));
  }
  const bool counts = b.contains("minContains") || b.contains("maxContains") || out.contains("minContains") ||
                      out.contains("maxContains");
  if (keyword == "contains" && !counts) return append(kSomeItems, value);
  if (keyword == kAllPatterns || keyword == kSomeItems || keyword == kSomeMembers) {
    if (!value.is_array()) return false;
    for (const json::value& item : value.get_array()) append(keyword, item);
    return true;
  }
  return false;
}

bool IsOfItems(std::string_view keyword) {
  return keyword == "items" || keyword == "prefixItems" || keyword == "additionalItems";
}

bool HasItems(const json::object& schema) {
  return std::ranges::any_of(schema, [](const auto& entry) { return IsOfItems(entry.key()); });
}

}  // namespace

Result<json::object> MergeSchemas(const json::object& a, const json::object& b, const std::string& path) {
  const json::object never{{"type", json::array()}};  // no value has no type
  json::object out;
  for (const auto& [keyword, value] : a) {
    if (!IsAnnotation(keyword)) out[keyword] = value;
  }
  const bool merges_items = HasItems(a) && HasItems(b);
  for (const auto& [keyword, value] : b) {
    if (IsAnnotation(keyword) || (merges_items && IsOfItems(keyword))) continue;
    const auto found = out.find(keyword);
    if (found == out.end()) {
      out[keyword] = value;
    } else if (found->value() != value && !MergeIntoList(keyword, b, value, out)) {
      if (keyword == "const") return never;
      auto merged = MergeValues(keyword, found->value(), value, path);
      if (!merged) return Forward(merged);
      if (keyword == "enum" && *merged == json::array()) return never;
      out[keyword] = std::move(*merged);
    }
  }
  if (merges_items) MergeItems(a, b, out);
  if (auto merged = MergeAdditional(a, b, out, path); !merged) return Forward(merged);
  if (auto merged = MergeAdditional(b, a, out, path); !merged) return Forward(merged);
  return out;
}

}  // namespace inferflux::text
