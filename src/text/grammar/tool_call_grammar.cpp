#include "text/grammar/tool_call_grammar.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "text/grammar/json_schema/json_grammar.h"
#include "text/grammar/json_schema/json_schema.h"
#include "text/grammar/json_schema/schema_compiler.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

// Of the schema's documents those that are objects.
Status NarrowToObjects(json::value& schema) {
  if (!schema.is_object()) return Fail(ErrorCode::kInvalidArgument, "at #: must be an object");
  json::object& keywords = schema.get_object();
  json::value& type = keywords["type"];  // null where there was none
  const bool objects = type.is_null() || type == "object" ||
                       (type.is_array() && std::ranges::count(type.get_array(), json::value("object")) > 0);
  if (!objects) return Fail(ErrorCode::kInvalidArgument, "at #/type: arguments are objects, and it allows none");
  type = "object";
  keywords.erase("nullable");
  return {};
}

Result<Expr> Arguments(const ToolCallSpec::Tool& tool, JsonGrammar& json) {
  if (tool.parameters.empty()) return json.Object();
  auto schema = ReadSchema(tool.parameters);
  if (!schema) return Forward(schema);
  if (auto narrowed = NarrowToObjects(*schema); !narrowed) return Forward(narrowed);
  return SchemaCompiler(*schema, json).Compile();
}

Result<Expr> OneCall(const std::vector<ToolCallSpec::Tool>& tools, JsonGrammar& json) {
  std::vector<Expr> ways;
  for (const ToolCallSpec::Tool& tool : tools) {
    auto arguments = Arguments(tool, json);
    if (!arguments) return Forward(arguments, "the parameters of '" + tool.name + "'");
    ways.push_back(
        Sequence({json.Member(Literal("\"name\""), Literal(json::serialize(json::value(tool.name)))), Literal(","),
                  json.Space(), json.Member(Literal("\"arguments\""), std::move(*arguments))}));
  }
  return Sequence({Literal(std::string(kToolCallOpen)), json.Space(), Literal("{"), json.Space(),
                   Choice(std::move(ways)), json.Space(), Literal("}"), json.Space(),
                   Literal(std::string(kToolCallClose))});
}

// Any text without the opening tag. The tag has no second '<', so one that comes begins the search anew.
Expr TextWithoutCalls() {
  constexpr char32_t kFirst = U'<';
  static_assert(kToolCallOpen.rfind('<') == 0);
  std::vector<Expr> begun, again, over;  // from behind a '<': the text ends, another '<' comes, or something else does
  for (size_t taken = 1; taken < kToolCallOpen.size(); ++taken) {
    const Expr same = Literal(std::string(kToolCallOpen.substr(1, taken - 1)));
    const auto next = static_cast<char32_t>(kToolCallOpen[taken]);
    begun.push_back(same);
    again.push_back(Sequence({same, Literal("<")}));
    over.push_back(
        Sequence({same, OneOf(Complement(Normalise(std::vector<CodeRange>{{kFirst, kFirst}, {next, next}})))}));
  }
  const Expr tags = Sequence({Literal("<"), Repeat(Choice(std::move(again)), 0, kUnbounded)});
  const Expr other = Choice({OneOf(Complement({{kFirst, kFirst}})), Sequence({tags, Choice(std::move(over))})});
  return Sequence({Repeat(other, 0, kUnbounded), Optional(Sequence({tags, Choice(std::move(begun))}))});
}

}  // namespace

Result<Grammar> GrammarOfToolCalls(const ToolCallSpec& spec) {
  if (spec.tools.empty()) return Fail(ErrorCode::kInvalidArgument, "there is no tool to call");
  JsonGrammar json;
  auto body = OneCall(spec.tools, json);
  if (!body) return Forward(body);
  const Expr call = Call(json.grammar().Add("a call", std::move(*body)));
  const uint32_t more = spec.several ? kUnbounded : 0;
  if (spec.forced) {
    return json.Finish("the calls", Sequence({call, Repeat(Sequence({json.Space(), call}), 0, more)}));
  }
  const RuleId text = json.grammar().Add("text without calls", TextWithoutCalls());
  json.grammar().rules[text].apart = true;
  const Expr last = spec.several ? Call(text) : Literal("");
  return json.Finish("the answer",
                     Sequence({Call(text), Repeat(Sequence({call, last}), 0, spec.several ? kUnbounded : 1)}));
}

}  // namespace inferflux::text
