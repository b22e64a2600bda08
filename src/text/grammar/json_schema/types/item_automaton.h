// Sequences of items or members that are counted or used up, as an automaton whose edges read one each.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "text/grammar/expression.h"

namespace inferflux::text {

class ItemAutomaton {
 public:
  // The first state is the start.
  uint32_t Add(bool final) {
    finals_.push_back(final);
    return static_cast<uint32_t>(finals_.size() - 1);
  }
  void Connect(uint32_t from, Expr item, uint32_t to) {
    edges_.push_back({from, to});
    items_.push_back(std::move(item));
  }

  // States that lead to no final one are left out.
  Expr ToExpression() const {
    std::vector<bool> useful = finals_;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = edges_.size(); i-- > 0;) {
        if (!useful[edges_[i].to] || useful[edges_[i].from]) continue;
        useful[edges_[i].from] = changed = true;
      }
    }
    if (finals_.empty() || !useful[0]) return Nothing();
    Expression out{.kind = Expression::Kind::kAutomaton, .finals = finals_};
    for (size_t i = 0; i < edges_.size(); ++i) {
      if (!useful[edges_[i].to]) continue;
      out.edges.push_back(edges_[i]);
      out.parts.push_back(items_[i]);
    }
    return std::make_shared<Expression>(std::move(out));
  }

 private:
  std::vector<bool> finals_;
  std::vector<Expression::Edge> edges_;
  std::vector<Expr> items_;
};

}  // namespace inferflux::text
