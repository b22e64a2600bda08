#include "text/tool_calls/grammar/argument_grammars.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/json_schema/json_schema.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/tool_calls/argument_schema.h"
#include "text/tool_calls/grammar/marker_grammar.h"
#include "text/tool_calls/grammar/schema_members.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxElementDepth = 32;  // schemas within schemas

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxArgumentName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || static_cast<unsigned char>(c) >= 0x80;
  });
}

class ElementWriter {
 public:
  ElementWriter(const json::value& root, Expr mark, JsonGrammar& values)
      : root_(root), mark_(std::move(mark)), values_(values) {}

  // The members of an object, one after the other in the schema's order.
  Result<Expr> Members(const json::object& schema, const std::string& at, size_t depth) {
    for (const auto& [keyword, value] : schema) {
      const bool known = keyword == "type" || keyword == "properties" || keyword == "required" ||
                         keyword == "additionalProperties" || IsAnnotation(keyword);
      if (!known) return Refused(at + "/" + std::string(keyword), "elements cannot be constrained to it");
    }
    auto members = SchemaMembers(schema, at);
    if (!members) return Forward(members);
    const json::value* additional = schema.if_contains("additionalProperties");
    if (members->empty() && (additional == nullptr || *additional != false)) {
      auto value = additional == nullptr ? Anything() : Value(*additional, at + "/additionalProperties", depth + 1);
      if (!value) return value;
      return Repeat(Element(MadeUpName(), std::move(*value)), 0, kUnbounded);
    }
    std::vector<Expr> out;
    for (const auto& [name, content, required] : *members) {
      const std::string where = at + "/properties/" + std::string(name);
      if (!IsName(name)) return Refused(where, "cannot be used in a tag");
      auto value = Value(*content, where, depth + 1);
      if (!value) return value;
      Expr member = Element(Literal(std::string(name)), std::move(*value));
      out.push_back(required ? std::move(member) : Optional(std::move(member)));
    }
    return Sequence(std::move(out));
  }

  // The content of an element without a schema: text, or elements.
  Result<Expr> Anything() {
    if (!anything_) {
      anything_ = values_.grammar().Add("any value", nullptr);
      Expr elements = Repeat(Element(MadeUpName(), Call(*anything_)), 1, kUnbounded);
      values_.grammar().rules[*anything_].body = Choice({values_.String(), std::move(elements)});
    }
    return Call(*anything_);
  }

 private:
  static Expr MadeUpName() {
    return Repeat(OneOf({{'-', '.'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}), 1, kMaxMadeUpName);
  }

  Expr Element(const Expr& name, Expr value) {
    return Sequence({mark_, Literal("<"), name, Literal(">"), std::move(value), mark_, Literal("</"), name,
                     Literal(">"), values_.Space()});
  }

  Result<Expr> Value(const json::value& schema, const std::string& at, size_t depth) {
    if (depth > kMaxElementDepth) return Refused(at, "schemas are nested too deep");
    if (schema == false) return Nothing();
    if (!schema.is_object()) return Anything();
    const json::object& keywords = schema.get_object();
    const json::value* target = Referred(root_, &schema);
    if (target != &schema) return Reference(*target, keywords, at, depth);
    if (keywords.contains("const") || keywords.contains("enum")) return Listed(schema, at);
    if (keywords.contains("anyOf")) return OrNull(schema, at, depth);
    const json::value* type = keywords.if_contains("type");
    if (type != nullptr && type->is_array()) return OfTypes(keywords, type->get_array(), at, depth);
    if (type == nullptr) {
      const bool free = std::ranges::all_of(keywords, [](const auto& entry) { return IsAnnotation(entry.key()); });
      return free ? Anything() : Result<Expr>(Refused(at, "needs a type"));
    }
    return OfType(*type, keywords, at, depth);
  }

  // One rule for each referenced schema, because it may contain itself.
  Result<Expr> Reference(const json::value& target, const json::object& keywords, const std::string& at, size_t depth) {
    for (const auto& [keyword, value] : keywords) {
      if (keyword != "$ref" && !IsAnnotation(keyword)) return Refused(at + "/" + std::string(keyword), "beside '$ref'");
    }
    const auto [known, is_new] = references_.try_emplace(&target, 0);
    if (!is_new) return Call(known->second);
    const RuleId rule = known->second = values_.grammar().Add(at, nullptr);
    auto body = Value(target, at, depth + 1);
    if (!body) return body;
    values_.grammar().rules[rule].body = std::move(*body);
    return Call(rule);
  }

  Result<Expr> Listed(const json::value& schema, const std::string& at) {
    const json::object& keywords = schema.get_object();
    const bool is_const = keywords.contains("const");
    const std::string where = at + (is_const ? "/const" : "/enum");
    const json::value& values = keywords.at(is_const ? "const" : "enum");
    bool text = false, other = false;
    for (const json::value& one : is_const || !values.is_array() ? json::array{values} : values.get_array()) {
      if (one.is_structured()) return Refused(where, "has lists or objects");
      text = text || one.is_string();
      other = other || !(one.is_string() || one.is_null());
    }
    if (text && other) return Refused(where, "has text and other values, which cannot be distinguished");
    auto listed = SchemaCompiler(schema, values_).Compile();
    if (!listed) return Forward(listed, "at " + where);
    return listed;
  }

  Result<Expr> OrNull(const json::value& schema, const std::string& at, size_t depth) {
    const json::value* other = BesideNull(root_, &schema);
    if (other == nullptr || other == &schema) return Refused(at + "/anyOf", "has several alternatives beside null");
    for (const auto& [keyword, value] : schema.get_object()) {
      if (keyword != "anyOf" && !IsAnnotation(keyword)) {
        return Refused(at + "/" + std::string(keyword), "beside 'anyOf'");
      }
    }
    auto value = Reference(*other, {}, at + "/anyOf", depth);
    if (!value) return value;
    return schema.at("anyOf").get_array().size() > 1 ? Choice({std::move(*value), Literal("null")}) : *value;
  }

  // Text cannot be distinguished from other types, nor elements from text; JSON's scalars can be distinguished.
  Result<Expr> OfTypes(const json::object& keywords, const json::array& types, const std::string& at, size_t depth) {
    std::vector<Expr> ways;
    size_t apart = 0, scalars = 0;
    for (const json::value& type : types) {
      const bool scalar = type == "number" || type == "integer" || type == "boolean";
      scalars += scalar ? 1 : 0;
      apart += scalar || type == "null" ? 0 : 1;
      auto way = OfType(type, keywords, at, depth);
      if (!way) return way;
      ways.push_back(std::move(*way));
    }
    if (apart > 1 || (apart > 0 && scalars > 0)) return Refused(at + "/type", "has types that cannot be distinguished");
    return Choice(std::move(ways));
  }

  Result<Expr> OfType(const json::value& type, const json::object& keywords, const std::string& at, size_t depth) {
    if (type == "object") return Members(keywords, at, depth);
    if (type == "array") return List(keywords, at, depth);
    if (keywords.contains("nullable")) return Refused(at + "/nullable", "elements cannot be constrained to it");
    json::value own = keywords;
    own.get_object()["type"] = type;
    auto value = SchemaCompiler(own, values_).Compile();
    if (!value) return Forward(value, "at " + at);
    return value;
  }

  Result<Expr> List(const json::object& keywords, const std::string& at, size_t depth) {
    uint32_t min = 0, max = kUnbounded;
    Result<Expr> item = Anything();
    for (const auto& [keyword, value] : keywords) {
      const std::string where = at + "/" + std::string(keyword);
      if (keyword == "items") {
        item = Value(value, where, depth + 1);
        if (!item) return item;
      } else if (keyword == "minItems" || keyword == "maxItems") {
        boost::system::error_code inexact;
        const auto count = value.is_number() ? value.to_number<uint32_t>(inexact) : kUnbounded;
        if (inexact || count > kMaxRepetitions) return Refused(where, "must be an integer, and not too large");
        (keyword == "minItems" ? min : max) = count;
      } else if (keyword != "type" && !IsAnnotation(keyword)) {
        return Refused(where, "lists of elements cannot be constrained to it");
      }
    }
    if (min > max) return Nothing();
    return Repeat(Element(Literal("item"), std::move(*item)), min, max);
  }

  const json::value& root_;
  const Expr mark_;
  JsonGrammar& values_;
  std::optional<RuleId> anything_;
  std::map<const json::value*, RuleId> references_;
};

}  // namespace

Result<Expr> ElementArguments(const ToolCallSyntax& syntax, const MarkerTokens& tokens, const OfferedTool& tool,
                              JsonGrammar& values) {
  json::value root = json::object();
  if (!tool.parameters.empty()) {
    auto schema = ReadSchema(tool.parameters);
    if (!schema) return Forward(schema);
    root = std::move(*schema);
  }
  const json::value* schema = Referred(root, &root);
  if (!schema->is_object()) return Fail(ErrorCode::kInvalidArgument, "at #: must be an object");
  const json::value* type = schema->get_object().if_contains("type");
  if (type != nullptr && *type != "object") return Refused("#/type", "arguments are an object");
  ElementWriter writer(root, MarkerGrammar(syntax.mark, tokens, values), values);
  return writer.Members(schema->get_object(), "#", 0);
}

}  // namespace inferflux::text
