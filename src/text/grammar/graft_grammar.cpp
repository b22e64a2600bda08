#include "text/grammar/graft_grammar.h"

#include <unordered_map>
#include <utility>

namespace inferflux::text {
namespace {

// Renumbers the rules that expressions call. Shared expressions stay shared.
class Renumbering {
 public:
  explicit Renumbering(RuleId first) : first_(first) {}

  Expr Of(const Expr& expr) {
    if (expr->kind == Expression::Kind::kCall) return Call(first_ + expr->rule);
    if (expr->parts.empty()) return expr;
    if (const auto known = done_.find(expr.get()); known != done_.end()) return known->second;
    Expression out = *expr;
    for (Expr& part : out.parts) part = Of(part);
    return done_[expr.get()] = std::make_shared<const Expression>(std::move(out));
  }

 private:
  RuleId first_;
  std::unordered_map<const Expression*, Expr> done_;
};

}  // namespace

Expr GraftGrammar(const Grammar& scion, Grammar& stock) {
  const auto first = static_cast<RuleId>(stock.rules.size());
  Renumbering renumbering(first);
  for (const GrammarRule& rule : scion.rules) {
    stock.rules.push_back({rule.name, renumbering.Of(rule.body), rule.apart});
  }
  return Call(first + scion.root);
}

}  // namespace inferflux::text
