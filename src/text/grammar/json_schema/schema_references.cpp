// $ref and allOf, and the check that all keywords are known.
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "text/grammar/gbnf_parser.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/schema_merge.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxReferences = 32;  // references that lead from one to the next

// One step of a JSON pointer (RFC 6901), as written in a URI fragment.
std::string Unescape(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    const std::string_view rest = token.substr(i);
    unsigned code = 0;
    if (rest.starts_with("~0") || rest.starts_with("~1")) {
      out += rest[1] == '0' ? '~' : '/';
      ++i;
    } else if (rest.size() >= 3 && rest[0] == '%' && std::from_chars(&rest[1], &rest[3], code, 16).ptr == &rest[3]) {
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += rest[0];
    }
  }
  return out;
}

const json::value* Child(const json::value& value, const std::string& key) {
  if (value.is_object()) return value.get_object().if_contains(key);
  size_t index = 0;
  if (!value.is_array()) return nullptr;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (error != std::errc() || end != key.data() + key.size()) return nullptr;
  return value.get_array().if_contains(index);
}

// The schema that is called "#name": by "$anchor" or, until draft 7, by "$id" or "id".
const json::value* FindAnchor(const json::value& value, std::string_view name, size_t depth) {
  if (depth > kMaxSchemaDepth) return nullptr;
  if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) {
      if (const json::value* found = FindAnchor(item, name, depth + 1)) return found;
    }
  }
  const json::object* members = value.if_object();
  if (members == nullptr) return nullptr;
  const auto is = [&](std::string_view key, std::string_view wanted) {
    const json::value* found = members->if_contains(key);
    return found != nullptr && found->is_string() && found->get_string() == wanted;
  };
  if (is("$anchor", name.substr(1)) || is("$id", name) || is("id", name)) return &value;
  for (const auto& [key, member] : *members) {
    if (key == "enum" || key == "const" || key == "default" || key == "examples") continue;
    if (const json::value* found = FindAnchor(member, name, depth + 1)) return found;
  }
  return nullptr;
}

}  // namespace

Result<const json::value*> SchemaCompiler::Resolve(const Value& reference, const Place& at) const {
  if (!reference.is_string()) return Wrong(at.At("$ref"), "must be a string");
  std::string_view pointer = reference.get_string();
  // A schema may refer to itself by its own address.
  const Value* own = root_.is_object() ? root_.get_object().if_contains("$id") : nullptr;
  if (own != nullptr && own->is_string() && !own->get_string().empty() && pointer.starts_with(own->get_string()) &&
      pointer.substr(own->get_string().size()).starts_with('#')) {
    pointer.remove_prefix(own->get_string().size());
  }
  if (pointer.size() > 1 && pointer[0] == '#' && pointer[1] != '/') {
    if (const Value* named = FindAnchor(root_, pointer, 0)) return named;
  }
  if (pointer != "#" && !pointer.starts_with("#/")) {
    return Wrong(at.At("$ref"), "'{}' is not in this schema; only references that begin with '#' are followed",
                 pointer);
  }
  const Value* found = &root_;
  for (size_t begin = 1; begin < pointer.size() && found != nullptr;) {
    const size_t end = std::min(pointer.find('/', begin + 1), pointer.size());
    found = Child(*found, Unescape(pointer.substr(begin + 1, end - begin - 1)));
    begin = end;
  }
  if (found == nullptr) return Wrong(at.At("$ref"), "'{}' leads nowhere", pointer);
  return found;
}

// One rule for each referenced place, so that schemas may contain themselves.
Result<Expr> SchemaCompiler::CallReference(const Value& reference, const Place& at) {
  auto target = Resolve(reference, at);
  if (!target) return Forward(target);
  const std::string pointer(reference.get_string());
  if (const auto found = references_.find(pointer); found != references_.end()) return Call(found->second);
  const RuleId rule = json_.grammar().Add(pointer, nullptr);
  references_.emplace(pointer, rule);
  auto body = Any(**target, {.path = pointer.substr(1), .depth = at.depth + 1});
  if (!body) return body;
  json_.grammar().rules[rule].body = std::move(*body);
  return Call(rule);
}

// Removes $ref, allOf and annotations.
Result<json::object> SchemaCompiler::Flatten(const Object& schema, const Place& at, size_t depth) const {
  if (depth == kMaxReferences)
    return Wrong(at, "a chain of more than {} references, or one without an end", kMaxReferences);
  if (auto known = CheckKeywords(schema, at); !known) return Forward(known);
  if (HasSugar(schema)) {
    auto plain = WithoutSugar(schema, at);
    if (!plain) return Forward(plain);
    return Flatten(*plain, at, depth + 1);
  }
  Object flat;
  for (const auto& [keyword, value] : schema) {
    if (keyword != "$ref" && keyword != "allOf" && !IsAnnotation(keyword)) flat[keyword] = value;
  }
  const auto add = [&](const Value& other, const Place& where) -> Status {
    if (other == true) return {};
    if (other == false) {
      flat["type"] = Array();
      return {};
    }
    if (!other.is_object()) return Wrong(where, "must be an object here");
    auto part = Flatten(other.get_object(), where, depth + 1);
    if (!part) return Forward(part);
    if (auto closed = CloseWithin(*part, where); !closed) return closed;
    auto merged = MergeSchemas(flat, *part, where.path);
    if (!merged) return Forward(merged);
    flat = std::move(*merged);
    return {};
  };
  if (const Value* reference = schema.if_contains("$ref")) {
    auto target = Resolve(*reference, at);
    if (!target) return Forward(target);
    if (auto added = add(**target, at.At("$ref")); !added) return Forward(added);
  }
  if (const Value* all = schema.if_contains("allOf")) {
    if (!all->is_array() || all->get_array().empty())
      return Wrong(at.At("allOf"), "must be a list of schemas, and not empty");
    for (size_t i = 0; i < all->get_array().size(); ++i) {
      if (auto added = add(all->get_array()[i], at.At("allOf", i)); !added) return Forward(added);
    }
  }
  return flat;
}

// unevaluatedProperties of a part of a schema: it applies to what the part itself does not name.
Status SchemaCompiler::CloseWithin(Object& part, const Place& at) {
  if (!part.contains("unevaluatedProperties")) return {};
  if (part.contains("anyOf") || part.contains("oneOf")) {
    return Wrong(at.At("unevaluatedProperties"), "is not supported beside 'anyOf' and 'oneOf' in a part of a schema");
  }
  if (!part.contains("additionalProperties")) part["additionalProperties"] = part.at("unevaluatedProperties");
  part.erase("unevaluatedProperties");
  return {};
}

Status SchemaCompiler::CheckKeywords(const Object& schema, const Place& at) const {
  if (schema.contains("unevaluatedProperties")) {
    // What these exclude is rewritten with 'properties', which would count as evaluated.
    for (const std::string_view keyword : {"oneOf", "not", "if", "dependentSchemas", "dependencies"}) {
      if (!schema.contains(keyword)) continue;
      return Wrong(at.At("unevaluatedProperties"), "is not supported beside '{}'", keyword);
    }
  }
  for (const auto& [keyword, value] : schema) {
    if (IsAnnotation(keyword) || IsHonoured(keyword)) continue;
    return Wrong(at.At(keyword), "the keyword '{}' is not supported", std::string_view(keyword));
  }
  return {};
}

}  // namespace inferflux::text
