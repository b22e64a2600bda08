#include "text/tool_calls/grammar/tool_call_grammar.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "text/grammar/json_schema/json_grammar.h"
#include "text/grammar/json_schema/json_schema.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/sort_properties.h"
#include "text/tool_calls/grammar/argument_grammars.h"
#include "text/tool_calls/grammar/marker_grammar.h"
#include "text/tool_calls/grammar/value_grammar.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

// The schema's documents that are objects.
Status NarrowToObjects(json::value& schema) {
  if (!schema.is_object()) return Fail(ErrorCode::kInvalidArgument, "at #: must be an object");
  json::object& keywords = schema.get_object();
  json::value& type = keywords["type"];  // null if there was none
  const bool objects = type.is_null() || type == "object" ||
                       (type.is_array() && std::ranges::count(type.get_array(), json::value("object")) > 0);
  if (!objects)
    return Fail(ErrorCode::kInvalidArgument, "at #/type: arguments are objects, and it does not allow objects");
  type = "object";
  keywords.erase("nullable");
  return {};
}

Result<Expr> Arguments(const ToolCallSpec& spec, const OfferedTool& tool, JsonGrammar& json) {
  if (!tool.lark.empty()) return LarkArguments(*spec.syntax, tool, json);
  if (spec.syntax->body == CallBody::kTagged) return TaggedArguments(*spec.syntax, spec.tokens, tool, json);
  if (spec.syntax->values == ValueSyntax::kElements) return ElementArguments(*spec.syntax, spec.tokens, tool, json);
  if (spec.syntax->values == ValueSyntax::kPython) return PythonArguments(tool, json);
  if (tool.parameters.empty()) return json.Object();
  auto schema = ReadSchema(tool.parameters);
  if (!schema) return Forward(schema);
  if (auto narrowed = NarrowToObjects(*schema); !narrowed) return Forward(narrowed);
  if (spec.syntax->sorted) SortProperties(*schema);
  return SchemaCompiler(*schema, json).Compile();
}

std::string Quoted(std::string_view text) { return json::serialize(json::value(text)); }

// A JSON object of the format, after its brace.
Expr Members(const ToolCallSyntax& syntax, const OfferedTool& tool, Expr arguments, JsonGrammar& json) {
  if (syntax.name_key.empty()) return json.Member(Literal(Quoted(tool.name)), std::move(arguments));
  std::vector<Expr> out;
  if (!syntax.id_key.empty()) {
    const Expr number = Repeat(OneOf({{'0', '9'}}), 1, 3);
    out = {json.Member(Literal(Quoted(syntax.id_key)), Sequence({Literal("\""), number, Literal("\"")})), Literal(","),
           json.Space()};
  }
  out.push_back(json.Member(Literal(Quoted(syntax.name_key)), Literal(Quoted(tool.name))));
  out.push_back(Literal(","));
  out.push_back(json.Space());
  out.push_back(json.Member(Literal(Quoted(syntax.arguments_key)), std::move(arguments)));
  return Sequence(std::move(out));
}

// From after the opening of a call to its closing marker.
Result<Expr> OneCall(const ToolCallSpec& spec, JsonGrammar& json) {
  const ToolCallSyntax& syntax = *spec.syntax;
  std::vector<Expr> ways;
  for (const OfferedTool& tool : spec.tools) {
    auto arguments = Arguments(spec, tool, json);
    if (!arguments) return Forward(arguments, "the parameters of '" + tool.name + "'");
    if (syntax.body == CallBody::kObject) {
      ways.push_back(Members(syntax, tool, std::move(*arguments), json));
    } else {
      const Expr line = syntax.body == CallBody::kTagged ? json.Space() : Literal("");
      ways.push_back(Sequence(
          {Literal(tool.name), MarkerGrammar(syntax.name_closes, spec.tokens, json), line, std::move(*arguments)}));
    }
  }
  Expr body = Choice(std::move(ways));
  if (syntax.body == CallBody::kObject) {
    body = Sequence({Literal("{"), json.Space(), std::move(body), json.Space(), Literal("}")});
  }
  return Sequence({std::move(body), MarkerGrammar(syntax.call_closes, spec.tokens, json)});
}

// All calls of an answer, and the text around them.
Expr Calls(const ToolCallSpec& spec, const Expr& call, JsonGrammar& json) {
  const ToolCallSyntax& syntax = *spec.syntax;
  const auto marker = [&](std::string_view text) { return MarkerGrammar(text, spec.tokens, json); };
  const uint32_t more = spec.several ? kUnbounded : 0;
  const char* comma = syntax.list ? "," : syntax.bare ? ";" : "";
  Expr calls = Sequence({call, Repeat(Sequence({Literal(comma), json.Space(), call}), 0, more)});
  if (syntax.list) calls = Sequence({Literal("["), json.Space(), std::move(calls), json.Space(), Literal("]")});
  const bool tagged = syntax.body == CallBody::kTagged;
  const Expr line = tagged && !syntax.opens.empty() ? json.Space() : Literal("");
  return Sequence({marker(syntax.opens), line, std::move(calls), line, marker(syntax.closes)});
}

}  // namespace

Result<Grammar> GrammarOfToolCalls(const ToolCallSpec& spec) {
  if (spec.tools.empty()) return Fail(ErrorCode::kInvalidArgument, "there is no tool to call");
  const ToolCallSyntax& syntax = *spec.syntax;
  const auto values = GrammarOfValues(syntax, spec.tokens);
  if (!values) return Forward(values);
  JsonGrammar& json = **values;
  auto body = OneCall(spec, json);
  if (!body) return Forward(body);
  if (!syntax.bare) *body = Sequence({MarkerGrammar(syntax.call_opens, spec.tokens, json), std::move(*body)});
  const Expr call = Call(json.grammar().Add("a call", std::move(*body)));
  if (spec.forced) return json.Finish("the calls", Calls(spec, call, json));

  auto without = TextWithoutCalls(syntax);
  if (!without) return Forward(without);
  const RuleId rule = json.grammar().Add("text without calls", std::move(*without));
  json.grammar().rules[rule].apart = true;
  const Expr text = Call(rule);
  if (syntax.bare) return json.Finish("the answer", Choice({Calls(spec, call, json), text}));
  if (syntax.list || !syntax.opens.empty()) {
    return json.Finish("the answer", Sequence({text, Optional(Calls(spec, call, json))}));
  }
  const Expr last = spec.several ? text : Literal("");
  return json.Finish("the answer", Sequence({text, Repeat(Sequence({call, last}), 0, spec.several ? kUnbounded : 1)}));
}

}  // namespace inferflux::text
