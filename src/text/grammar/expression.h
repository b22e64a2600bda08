// The elements of a grammar, whether it was written as GBNF, as a JSON schema or as a regular expression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "text/grammar/code_ranges.h"

namespace inferflux::text {

using RuleId = uint32_t;
inline constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();
inline constexpr uint32_t kMaxRepetitions = 1'000'000;

struct Expression;
using Expr = std::shared_ptr<const Expression>;  // immutable, so parts may be shared

struct Expression {
  enum class Kind : uint8_t {
    kText,       // these bytes
    kClass,      // one character of a set
    kSequence,   // all parts, one after the other; without parts: the empty text
    kChoice,     // any of the parts; without parts: nothing matches
    kRepeat,     // its one part, min to max times
    kCall,       // a rule
    kAutomaton,  // a path from state 0 to a final state; edge i reads its i-th part
  };
  struct Edge {
    uint32_t from = 0;
    uint32_t to = 0;
  };

  Kind kind = Kind::kText;
  std::string text = {};
  CodeRanges ranges = {};
  std::vector<Expr> parts = {};
  uint32_t min = 0;
  uint32_t max = 0;
  RuleId rule = 0;
  std::vector<Edge> edges = {};   // of an automaton
  std::vector<bool> finals = {};  // by its states; each leads to a final one
};

inline Expr Literal(std::string text) {
  return std::make_shared<Expression>(Expression{.kind = Expression::Kind::kText, .text = std::move(text)});
}
inline Expr OneOf(CodeRanges set) {
  return std::make_shared<Expression>(Expression{.kind = Expression::Kind::kClass, .ranges = std::move(set)});
}
inline Expr Sequence(std::vector<Expr> parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  return std::make_shared<Expression>(Expression{.kind = Expression::Kind::kSequence, .parts = std::move(parts)});
}
inline Expr Choice(std::vector<Expr> parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  return std::make_shared<Expression>(Expression{.kind = Expression::Kind::kChoice, .parts = std::move(parts)});
}
inline Expr Nothing() { return Choice({}); }
inline Expr Repeat(Expr part, uint32_t min, uint32_t max) {
  return std::make_shared<Expression>(
      Expression{.kind = Expression::Kind::kRepeat, .parts = {std::move(part)}, .min = min, .max = max});
}
inline Expr Optional(Expr part) { return Repeat(std::move(part), 0, 1); }
inline Expr Call(RuleId rule) {
  return std::make_shared<Expression>(Expression{.kind = Expression::Kind::kCall, .rule = rule});
}

struct GrammarRule {
  std::string name;  // for messages
  Expr body;
  bool apart = false;  // never inlined: other grammars have it too and share its masks
};

struct Grammar {
  std::vector<GrammarRule> rules;
  RuleId root = 0;

  RuleId Add(std::string name, Expr body) {
    rules.push_back({std::move(name), std::move(body)});
    return static_cast<RuleId>(rules.size() - 1);
  }
};

}  // namespace inferflux::text
