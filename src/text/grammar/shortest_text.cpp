#include "text/grammar/shortest_text.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "text/grammar/automaton/char_automaton.h"

namespace inferflux::text {
namespace {

constexpr size_t kMaxInlinedHeight = 1024;  // of an expression, whose parts are visited by recursion

struct Inlined {
  Expr expr;
  size_t height = 1;
};

// An expression with the bodies of the rules that it calls in place of the calls. What is shared stays shared.
class CallInliner {
 public:
  CallInliner(const Grammar& grammar, const std::unordered_set<RuleId>& lazy) : grammar_(grammar), lazy_(lazy) {}

  Result<Inlined> RuleBody(RuleId rule, size_t depth = 0) {
    const auto [known, is_new] = bodies_.try_emplace(rule);
    if (!is_new) {
      if (known->second.expr) return known->second;
      return Fail(ErrorCode::kInvalidArgument, "it calls '{}', which calls itself", grammar_.rules[rule].name);
    }
    auto body = Inline(grammar_.rules[rule].body, depth);
    if (body) bodies_[rule] = *body;
    return body;
  }

  Result<Inlined> Inline(const Expr& expr, size_t depth = 0) {
    if (depth == kMaxInlinedHeight) return TooDeep();
    if (expr->kind == Expression::Kind::kCall) return Called(expr->rule, depth + 1);
    if (expr->parts.empty()) return Inlined{expr};
    if (const auto known = done_.find(expr.get()); known != done_.end()) return known->second;
    Expression copy = *expr;
    Inlined out;
    for (Expr& part : copy.parts) {
      auto inlined = Inline(part, depth + 1);
      if (!inlined) return inlined;
      out.height = std::max(out.height, inlined->height + 1);
      if (out.height > kMaxInlinedHeight) return TooDeep();  // what was known may be higher than it is deep here
      part = std::move(inlined->expr);
    }
    out.expr = std::make_shared<const Expression>(std::move(copy));
    return done_[expr.get()] = std::move(out);
  }

 private:
  Result<Inlined> Called(RuleId rule, size_t depth) {
    const bool calls_itself = bodies_.contains(rule) && !bodies_[rule].expr;
    if (calls_itself || !lazy_.contains(rule)) return RuleBody(rule, depth);
    return Fail(ErrorCode::kInvalidArgument, "it calls '{}', which is lazy or has a stop too",
                grammar_.rules[rule].name);
  }

  static tl::unexpected<Error> TooDeep() {
    return Fail(ErrorCode::kInvalidArgument, "with the rules that it calls it is nested deeper than {}",
                kMaxInlinedHeight);
  }

  const Grammar& grammar_;
  const std::unordered_set<RuleId>& lazy_;
  std::unordered_map<RuleId, Inlined> bodies_;  // null: being inlined
  std::unordered_map<const Expression*, Inlined> done_;
};

}  // namespace

Result<Expr> ShortestText(const Grammar& grammar, RuleId rule, const Expr& stop,
                          const std::unordered_set<RuleId>& lazy) {
  CallInliner inliner(grammar, lazy);
  auto body = inliner.RuleBody(rule);
  if (!body) return Forward(body);
  Expr whole = std::move(body->expr);
  if (stop) {
    auto end = inliner.Inline(stop);
    if (!end) return Forward(end);
    whole = Sequence({whole, std::move(end->expr)});
  }
  const Expr more = Repeat(OneOf(Complement({})), 1, kUnbounded);
  const auto texts = CharAutomaton::Of(*whole);
  if (!texts) return Forward(texts);
  const auto longer = CharAutomaton::Of(*Sequence({whole, more}));
  if (!longer) return Forward(longer);
  const auto shortest = texts->Without(*longer);
  if (!shortest) return Forward(shortest);
  return shortest->ToExpression();
}

}  // namespace inferflux::text
