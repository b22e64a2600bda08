#include "text/grammar/tagged_grammar.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/json_schema/json_schema.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/marker_grammar.h"
#include "text/tool_calls/argument_schema.h"
#include "text/tool_calls/marker.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

auto Refused(const std::string& at, std::string_view why) {
  return Fail(ErrorCode::kUnsupported, "at {}: {}", at, why);
}

class TaggedWriter {
 public:
  TaggedWriter(const ToolCallForm& form, const MarkerTokens& tokens, JsonGrammar& json)
      : form_(form), tokens_(tokens), json_(json) {}

  // Any arguments at all.
  Result<Expr> Anything() {
    auto value = Text();
    if (!value) return value;
    const Expr name = Repeat(OneOf({{'-', '-'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}), 1, 64);
    return Repeat(Argument(name, std::move(*value)), 0, kUnbounded);
  }

  Result<Expr> Under(const json::value& schema) {
    const json::object empty;
    const json::value* properties = schema.get_object().if_contains("properties");
    const json::object& named = properties != nullptr && properties->is_object() ? properties->get_object() : empty;
    const json::value* list = schema.get_object().if_contains("required");
    const json::array required = list != nullptr && list->is_array() ? list->get_array() : json::array();
    for (const json::value& name : required) {
      if (!name.is_string() || !named.contains(name.get_string())) {
        return Refused("#/required", "names an argument without a schema");
      }
    }
    std::vector<Expr> out;
    for (const auto& [name, ignored] : named) {
      const std::string at = "#/properties/" + std::string(name);
      if (name.empty() || name.find_first_of("<>\" \t\r\n") != std::string_view::npos) {
        return Refused(at, "cannot stand in a tag");
      }
      auto value = Value(schema, *SchemaOfArgument(schema, name), at);
      if (!value) return value;
      Expr argument = Argument(Literal(std::string(name)), std::move(*value));
      const bool needed = std::ranges::find(required, json::value(name)) != required.end();
      out.push_back(needed ? std::move(argument) : Optional(std::move(argument)));
    }
    return Sequence(std::move(out));
  }

 private:
  Expr Argument(Expr name, Expr value) {
    const auto marker = [&](std::string_view text) { return MarkerGrammar(text, tokens_, json_); };
    const Expr line = Literal(form_.own_lines ? "\n" : "");
    return Sequence({marker(form_.key_opens), std::move(name), marker(form_.key_closes), line, std::move(value), line,
                     marker(form_.value_closes), json_.Space()});
  }

  // Any text that does not end the value.
  Result<Expr> Text() {
    if (text_) return *text_;
    auto without = TextWithout(form_.value_closes);
    if (!without) return Forward(without);
    text_ = Call(json_.grammar().Add("text of an argument", without->ToExpression()));
    return *text_;
  }

  Result<Expr> Value(const json::value& root, const json::value& schema, const std::string& at) {
    if (!AllowsType(&schema, "string")) return AsJson(root, schema, at);
    if (!schema.is_object()) return Text();  // true
    std::vector<Expr> ways;
    for (const auto& [keyword, value] : schema.get_object()) {
      const bool listed = schema.get_object().contains("enum") || schema.get_object().contains("const");
      if (IsAnnotation(keyword) || (keyword == "type" && listed)) continue;
      if (!ways.empty()) return Refused(at + "/" + std::string(keyword), "text between tags cannot be held to it");
      if (keyword == "type") {
        const json::array types = value.is_array() ? value.get_array() : json::array{value};
        for (const json::value& type : types) {
          if (type != "string" && type != "null") return Refused(at + "/type", "may be text or something else");
        }
        auto text = Text();
        if (!text) return text;
        ways.push_back(std::move(*text));  // "null" too, which reads as null where that may be
      } else if (keyword == "enum" || keyword == "const") {
        for (const json::value& one : keyword == "enum" && value.is_array() ? value.get_array() : json::array{value}) {
          if (!one.is_string() || one.get_string().find(form_.value_closes) != json::string::npos) {
            return Refused(at + "/" + std::string(keyword), "has values that text between tags cannot be");
          }
          ways.push_back(Literal(std::string(one.get_string())));
        }
      } else if (keyword == "anyOf" && value.is_array()) {
        for (const json::value& one : value.get_array()) {
          if (!one.is_object() || !AllowsType(&one, "string")) {
            if (one != json::value{{"type", "null"}}) return Refused(at + "/anyOf", "may be text or something else");
            ways.push_back(Literal("null"));
            continue;
          }
          auto way = Value(root, one, at + "/anyOf");
          if (!way) return way;
          ways.push_back(std::move(*way));
        }
      } else {
        return Refused(at + "/" + std::string(keyword), "text between tags cannot be held to it");
      }
    }
    return ways.empty() ? Text() : Choice(std::move(ways));
  }

  Result<Expr> AsJson(const json::value& root, const json::value& schema, const std::string& at) {
    json::value whole = schema;
    if (whole.is_object()) {
      for (const char* definitions : {"$defs", "definitions"}) {
        const json::value* found = root.get_object().if_contains(definitions);
        if (found != nullptr) whole.get_object()[definitions] = *found;
      }
    }
    auto value = SchemaCompiler(whole, json_).Compile();
    if (!value) return Forward(value, at);
    return value;
  }

  const ToolCallForm& form_;
  const MarkerTokens& tokens_;
  JsonGrammar& json_;
  std::optional<Expr> text_;
};

}  // namespace

Result<Expr> TaggedArguments(const ToolCallForm& form, const MarkerTokens& tokens, const OfferedTool& tool,
                             JsonGrammar& json) {
  TaggedWriter writer(form, tokens, json);
  if (tool.parameters.empty()) return writer.Anything();
  auto schema = ReadSchema(tool.parameters);
  if (!schema) return Forward(schema);
  if (!schema->is_object()) return Fail(ErrorCode::kInvalidArgument, "at #: must be an object");
  for (const auto& [keyword, value] : schema->get_object()) {
    const bool known = keyword == "type" ? value == "object"
                                         : keyword == "properties" || keyword == "required" || keyword == "$defs" ||
                                               keyword == "definitions" || keyword == "additionalProperties";
    if (!known && !IsAnnotation(keyword)) {
      return Refused("#/" + std::string(keyword), "arguments between tags cannot be held to it");
    }
  }
  return writer.Under(*schema);
}

}  // namespace inferflux::text
