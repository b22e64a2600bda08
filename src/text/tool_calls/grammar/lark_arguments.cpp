#include <fmt/format.h>

#include <utility>
#include <vector>

#include "text/grammar/json_schema/quoted_text.h"
#include "text/grammar/lark_parser.h"
#include "text/tool_calls/grammar/argument_grammars.h"

namespace inferflux::text {
namespace {

// The expression with the rules of another grammar: `ids` are theirs there.
Expr WithRules(const Expr& expression, const std::vector<RuleId>& ids) {
  Expression out = *expression;
  if (out.kind == Expression::Kind::kCall) out.rule = ids[out.rule];
  for (Expr& part : out.parts) part = WithRules(part, ids);
  return std::make_shared<Expression>(std::move(out));
}

}  // namespace

Result<Expr> LarkArguments(const ToolCallSyntax& syntax, const OfferedTool& tool, JsonGrammar& json) {
  if (syntax.body == CallBody::kTagged || syntax.values != ValueSyntax::kJson) {
    return Fail(ErrorCode::kUnsupported,
                "the model does not write arguments as JSON, so a Lark grammar cannot constrain the input; leave the "
                "format out");
  }
  auto input = ParseLark(tool.lark);
  if (!input) return Forward(input);
  Grammar& grammar = json.grammar();
  std::vector<RuleId> ids;
  for (const GrammarRule& rule : input->rules) ids.push_back(grammar.Add(rule.name, nullptr));
  for (size_t i = 0; i < ids.size(); ++i) {
    grammar.rules[ids[i]].body = WithRules(EscapedWithin('"', input->rules[i].body), ids);
  }
  Expr quoted = Sequence({Literal("\""), Call(ids[input->root]), Literal("\"")});
  return Sequence({Literal("{"), json.Space(),
                   json.Member(Literal(fmt::format("\"{}\"", kCustomInput)), std::move(quoted)), json.Space(),
                   Literal("}")});
}

}  // namespace inferflux::text
