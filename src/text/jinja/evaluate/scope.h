// Variables by lexical scope.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "text/jinja/syntax/ast.h"
#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

// Bodies of loops, macros and of set, filter, with and call blocks have their own scope; {% if %} has none. An
// assignment goes to the innermost scope; a look-up goes outwards.
class Scope : public Mutable {
 public:
  explicit Scope(std::shared_ptr<Scope> parent) : parent_(std::move(parent)) {}

  // Null if no scope has it.
  const Value* Find(SymbolId symbol) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
      for (const auto& [name, value] : scope->variables_) {
        if (name == symbol) return &value;
      }
    }
    return nullptr;
  }

  void Set(SymbolId symbol, Value value) {
    for (auto& [name, old] : variables_) {
      if (name == symbol) return old = std::move(value), void();
    }
    variables_.emplace_back(symbol, std::move(value));
  }

  // A macro that was created here holds this scope, which holds the macro.
  void Unlink() override { const auto doomed = std::move(variables_); }

 private:
  std::vector<std::pair<SymbolId, Value>> variables_;
  std::shared_ptr<Scope> parent_;
};

}  // namespace inferflux::text::jinja
