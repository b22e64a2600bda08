#include "text/tool_calls/grammar/argument_grammars.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/json_schema/json_schema.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/tool_calls/argument_schema.h"
#include "text/tool_calls/grammar/marker_grammar.h"
#include "text/tool_calls/grammar/named_arguments.h"
#include "text/tool_calls/grammar/schema_members.h"
#include "text/tool_calls/marker.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

class TaggedWriter {
 public:
  TaggedWriter(const ToolCallSyntax& syntax, const MarkerTokens& tokens, JsonGrammar& json)
      : syntax_(syntax), tokens_(tokens), json_(json) {}

  // Any arguments.
  Result<Expr> Anything() {
    auto value = Text();
    if (!value) return value;
    const Expr name = Repeat(OneOf({{'-', '-'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}), 1, kMaxMadeUpName);
    return Repeat(Argument(name, std::move(*value)), 0, kUnbounded);
  }

  Result<Expr> Under(const std::vector<NamedArgument>& arguments) {
    std::vector<Expr> out;
    for (const NamedArgument& argument : arguments) {
      const std::string& name = argument.name;
      if (name.empty() || name.find_first_of("<>\" \t\r\n") != std::string_view::npos) {
        return Refused(argument.at, "cannot be used in a tag");
      }
      auto value = Value(argument.schema, argument.at);
      if (!value) return value;
      Expr written = Argument(Literal(name), std::move(*value));
      out.push_back(argument.required ? std::move(written) : Optional(std::move(written)));
    }
    return Sequence(std::move(out));
  }

 private:
  Expr Argument(Expr name, Expr value) {
    const auto marker = [&](std::string_view text) { return MarkerGrammar(text, tokens_, json_); };
    const Expr line = Literal(syntax_.own_lines ? "\n" : "");
    return Sequence({marker(syntax_.key_opens), std::move(name), marker(syntax_.key_closes), line, std::move(value),
                     line, marker(syntax_.value_closes), json_.Space()});
  }

  // Any text that does not end the value.
  Result<Expr> Text() {
    if (text_) return *text_;
    auto without = TextWithout(syntax_.value_closes);
    if (!without) return Forward(without);
    text_ = Call(json_.grammar().Add("text of an argument", without->ToExpression()));
    return *text_;
  }

  Result<Expr> Value(const json::value& schema, const std::string& at) {
    if (!AllowsType(&schema, "string")) {
      auto value = SchemaCompiler(schema, json_).Compile();
      if (!value) return Forward(value, at);
      return value;
    }
    if (!schema.is_object()) return Text();  // true
    std::vector<Expr> ways;
    for (const auto& [keyword, value] : schema.get_object()) {
      const bool listed = schema.get_object().contains("enum") || schema.get_object().contains("const");
      if (IsAnnotation(keyword) || (keyword == "type" && listed)) continue;
      if (!ways.empty())
        return Refused(at + "/" + std::string(keyword), "text between tags cannot be constrained to it");
      if (keyword == "type") {
        const json::array types = value.is_array() ? value.get_array() : json::array{value};
        for (const json::value& type : types) {
          if (type != "string" && type != "null") return Refused(at + "/type", "may be text or something else");
        }
        auto text = Text();
        if (!text) return text;
        ways.push_back(std::move(*text));  // also "null", which parses as null where null is allowed
      } else if (keyword == "enum" || keyword == "const") {
        for (const json::value& one : keyword == "enum" && value.is_array() ? value.get_array() : json::array{value}) {
          if (!one.is_string() || one.get_string().find(syntax_.value_closes) != json::string::npos) {
            return Refused(at + "/" + std::string(keyword), "has values that text between tags cannot express");
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
          auto way = Value(one, at + "/anyOf");
          if (!way) return way;
          ways.push_back(std::move(*way));
        }
      } else {
        return Refused(at + "/" + std::string(keyword), "text between tags cannot be constrained to it");
      }
    }
    return ways.empty() ? Text() : Choice(std::move(ways));
  }

  const ToolCallSyntax& syntax_;
  const MarkerTokens& tokens_;
  JsonGrammar& json_;
  std::optional<Expr> text_;
};

}  // namespace

Result<Expr> TaggedArguments(const ToolCallSyntax& syntax, const MarkerTokens& tokens, const OfferedTool& tool,
                             JsonGrammar& json) {
  TaggedWriter writer(syntax, tokens, json);
  if (tool.parameters.empty()) return writer.Anything();
  auto schema = ReadSchema(tool.parameters);
  if (!schema) return Forward(schema);
  const auto arguments = NamedArguments(*schema);
  if (!arguments) return Forward(arguments);
  return writer.Under(*arguments);
}

}  // namespace inferflux::text
