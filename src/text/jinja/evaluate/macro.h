// A macro, or the body of a {% call %} block, as a value.
#pragma once

#include <memory>

#include "text/jinja/evaluate/evaluator.h"

namespace inferflux::text::jinja {

class Macro : public Object {
 public:
  Macro(Evaluator& evaluator, const MacroDefinition& definition, std::shared_ptr<Scope> closure)
      : evaluator_(evaluator), definition_(definition), closure_(std::move(closure)) {}

  std::string_view TypeName() const override { return "Macro"; }
  void Repr(Runtime& rt, TextBuilder& out) const override;
  std::optional<Value> GetAttr(Runtime& rt, std::string_view name) override;
  bool IsCallable() const override { return true; }
  Value Call(Runtime& rt, CallArgs args) override;

  const MacroDefinition& definition() const { return definition_; }
  const std::shared_ptr<Scope>& closure() const { return closure_; }

 private:
  Evaluator& evaluator_;
  const MacroDefinition& definition_;
  std::shared_ptr<Scope> closure_;
};

}  // namespace inferflux::text::jinja
