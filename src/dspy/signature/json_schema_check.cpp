#include "dspy/signature/json_schema_check.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <optional>

#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

using boost::json::object;
using boost::json::value;
using Converted = tl::expected<value, std::string>;

constexpr size_t kMaxSchemaDepth = 64;
constexpr size_t kMaxSteps = 1'000'000;

// Says nothing about what is valid.
constexpr std::array<std::string_view, 8> kAnnotations = {"title",   "description", "default",  "examples",
                                                          "$schema", "$id",         "$comment", "deprecated"};
constexpr std::array<std::string_view, 18> kHonoured = {
    "type",      "enum",      "const",   "properties", "required", "additionalProperties", "items",
    "minItems",  "maxItems",  "minimum", "maximum",    "anyOf",    "exclusiveMinimum",     "exclusiveMaximum",
    "minLength", "maxLength", "$ref",    "$defs"};

std::string_view SchemaText(const value& text) { return {text.get_string().data(), text.get_string().size()}; }

std::optional<double> NumberOf(const value* number) {
  if (!number) return std::nullopt;
  if (number->is_int64()) return static_cast<double>(number->get_int64());
  if (number->is_uint64()) return static_cast<double>(number->get_uint64());
  if (number->is_double()) return number->get_double();
  return std::nullopt;
}

Status CheckAt(const object& root, const value& schema, const std::string& path, size_t depth) {
  const auto wrong = [&](std::string_view what) {
    return Fail(ErrorCode::kInvalidConfig, "the JSON schema at {}: {}", path, what);
  };
  if (schema.is_bool()) return {};
  if (!schema.is_object()) return wrong("a schema must be an object");
  if (depth > kMaxSchemaDepth) return wrong("schemas are nested too deep");
  for (const auto& [key, member] : schema.get_object()) {
    const std::string name(key);
    const std::string below = path + "/" + name;
    if (std::ranges::find(kAnnotations, name) != kAnnotations.end()) continue;
    if (std::ranges::find(kHonoured, name) == kHonoured.end()) {
      return wrong(fmt::format("the keyword '{}' is not honoured; leave it out", name));
    }
    if (name == "properties" || name == "$defs") {
      if (!member.is_object()) return wrong(fmt::format("'{}' must be an object", name));
      for (const auto& [inner, inner_schema] : member.get_object()) {
        if (auto ok = CheckAt(root, inner_schema, below + "/" + std::string(inner), depth + 1); !ok) return ok;
      }
    } else if (name == "anyOf") {
      if (!member.is_array() || member.get_array().empty()) return wrong("'anyOf' must be a list of schemas");
      for (const auto& way : member.get_array()) {
        if (auto ok = CheckAt(root, way, below, depth + 1); !ok) return ok;
      }
    } else if (name == "items" || name == "additionalProperties") {
      if (auto ok = CheckAt(root, member, below, depth + 1); !ok) return ok;
    } else if (name == "$ref") {
      if (!member.is_string() || !FindReference(root, SchemaText(member)))
        return wrong("'$ref' must refer to '#/$defs/...'");
    } else if (name == "type") {
      if (!member.is_string()) return wrong("'type' must be one text; use 'anyOf' for several");
    } else if (name == "required" || name == "enum") {
      if (!member.is_array()) return wrong(fmt::format("'{}' must be a list", name));
    } else if (name != "const" && !NumberOf(&member)) {
      return wrong(fmt::format("'{}' must be a number", name));
    }
  }
  return {};
}

bool IsOfType(std::string_view type, value& given) {
  if (type == "string") return given.is_string();
  if (type == "boolean") return given.is_bool();
  if (type == "null") return given.is_null();
  if (type == "array") return given.is_array();
  if (type == "object") return given.is_object();
  if (type == "number") return NumberOf(&given).has_value();
  if (type != "integer") return false;
  if (given.is_double() && std::trunc(given.get_double()) == given.get_double() &&
      std::abs(given.get_double()) < 9e15) {
    given = static_cast<int64_t>(given.get_double());
  }
  return given.is_int64() || given.is_uint64();
}

class SchemaConverter {
 public:
  explicit SchemaConverter(const object& root) : root_(root) {}

  Converted Convert(const value& schema, const value& given, const std::string& path, size_t depth) {
    if (depth > kMaxSchemaDepth) return Wrong(path, "nested too deep");
    if (++steps_ > kMaxSteps) return Wrong(path, "the schema has too many ways");
    if (schema.is_bool()) return schema.get_bool() ? Converted(given) : Wrong(path, "not expected");
    const object& rules = schema.get_object();
    value out = given;
    if (const auto* reference = rules.if_contains("$ref")) {
      const object* target = FindReference(root_, SchemaText(*reference));
      if (!target) return Wrong(path, "the schema's '$ref' refers to nothing");
      auto converted = Convert(*target, out, path, depth + 1);
      if (!converted) return converted;
      out = std::move(*converted);
    }
    if (const auto* type = rules.if_contains("type"); type && !IsOfType(SchemaText(*type), out)) {
      return Wrong(path, fmt::format("must be of type {}", SchemaText(*type)));
    }
    if (const auto* ways = rules.if_contains("anyOf")) {
      auto converted = AnyOf(ways->get_array(), out, path, depth);
      if (!converted) return converted;
      out = std::move(*converted);
    }
    if (auto wrong = Values(rules, out); !wrong.empty()) return Wrong(path, wrong);
    if (out.is_object()) return Members(rules, std::move(out.get_object()), path, depth);
    if (out.is_array()) return Items(rules, std::move(out.get_array()), path, depth);
    return out;
  }

 private:
  static tl::unexpected<std::string> Wrong(const std::string& path, std::string_view what) {
    return tl::make_unexpected(fmt::format("at {}: {}", path, what));
  }

  Converted AnyOf(const boost::json::array& ways, const value& given, const std::string& path, size_t depth) {
    Converted last = Wrong(path, "matches no way");
    for (const auto& way : ways) {
      last = Convert(way, given, path, depth + 1);
      if (last) return last;
    }
    return last;
  }

  static std::string Values(const object& rules, const value& given) {
    if (const auto* one = rules.if_contains("const"); one && *one != given) {
      return "must be " + boost::json::serialize(*one);
    }
    if (const auto* among = rules.if_contains("enum")) {
      const auto& values = among->get_array();
      if (std::ranges::find(values, given) == values.end()) return "must be one of " + boost::json::serialize(values);
    }
    const auto limit = [&](std::string_view name) { return NumberOf(rules.if_contains(name)); };
    const auto exceeds = [&](double size, std::string_view least, std::string_view most) -> std::string {
      if (const auto low = limit(least); low && size < *low)
        return fmt::format("{} is {}, and this is {}", least, *low, size);
      if (const auto high = limit(most); high && size > *high)
        return fmt::format("{} is {}, and this is {}", most, *high, size);
      return {};
    };
    if (const auto number = NumberOf(&given)) {
      if (const auto low = limit("exclusiveMinimum"); low && *number <= *low)
        return fmt::format("must be above {}", *low);
      if (const auto high = limit("exclusiveMaximum"); high && *number >= *high)
        return fmt::format("must be below {}", *high);
      return exceeds(*number, "minimum", "maximum");
    }
    if (given.is_array()) return exceeds(static_cast<double>(given.get_array().size()), "minItems", "maxItems");
    if (given.is_string()) {
      const std::string_view text = SchemaText(given);
      size_t chars = 0;
      for (size_t at = 0; at < text.size(); at += CharAt(text, at).size) ++chars;
      return exceeds(static_cast<double>(chars), "minLength", "maxLength");
    }
    return {};
  }

  Converted Members(const object& rules, object given, const std::string& path, size_t depth) {
    static const object kNone;
    const auto* properties = rules.if_contains("properties");
    const object& known = properties ? properties->get_object() : kNone;
    const auto* others = rules.if_contains("additionalProperties");
    for (auto& [key, member] : given) {
      const value* schema = known.if_contains(key);
      if (!schema) schema = others;
      if (!schema) continue;
      auto converted = Convert(*schema, member, path + "." + std::string(key), depth + 1);
      if (!converted) return converted;
      member = std::move(*converted);
    }
    for (const auto& [key, schema] : known) {
      const object* rule = schema.if_object();
      const auto* fallback = rule ? rule->if_contains("default") : nullptr;
      if (fallback && !given.contains(key)) given[key] = *fallback;
    }
    if (const auto* required = rules.if_contains("required")) {
      for (const auto& name : required->get_array()) {
        if (name.is_string() && !given.contains(SchemaText(name))) {
          return Wrong(path, fmt::format("'{}' is missing", SchemaText(name)));
        }
      }
    }
    return value(std::move(given));
  }

  Converted Items(const object& rules, boost::json::array given, const std::string& path, size_t depth) {
    const auto* items = rules.if_contains("items");
    for (size_t i = 0; items && i < given.size(); ++i) {
      auto converted = Convert(*items, given[i], fmt::format("{}[{}]", path, i), depth + 1);
      if (!converted) return converted;
      given[i] = std::move(*converted);
    }
    return value(std::move(given));
  }

  const object& root_;
  size_t steps_ = 0;
};

}  // namespace

Status CheckSchema(const object& schema) { return CheckAt(schema, schema, "#", 0); }

const object* FindReference(const object& root, std::string_view reference) {
  static constexpr std::string_view kPrefix = "#/$defs/";
  if (!reference.starts_with(kPrefix)) return nullptr;
  const auto* all = root.if_contains("$defs");
  const auto* found =
      all && all->is_object() ? all->get_object().if_contains(reference.substr(kPrefix.size())) : nullptr;
  return found ? found->if_object() : nullptr;
}

Converted ConvertBySchema(const object& schema, const value& given) {
  return SchemaConverter(schema).Convert(schema, given, "$", 0);
}

}  // namespace inferflux::dspy
