// Walks the syntax tree; one object for each render.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja/evaluate/scope.h"
#include "text/jinja/syntax/ast.h"
#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

class Macro;

class Evaluator {
 public:
  Evaluator(const Template& source, Runtime& rt, uint64_t max_output_bytes);

  // Sets a variable of the context. Ignores names that the template does not mention.
  void SetVariable(std::string_view name, const Value& value);
  TracedText Render();

  // Callbacks for objects.
  Value CallMacro(const Macro& macro, CallArgs args);
  Value RenderLoop(const For& loop, const std::shared_ptr<Scope>& outer, const Value& iterable, int depth);
  bool PassesFilter(const For& loop, const std::shared_ptr<Scope>& outer, const Value& item);

 private:
  enum class Flow { kNext, kBreak, kContinue };
  // Makes a scope current during its lifetime.
  class Inside {
   public:
    Inside(Evaluator& evaluator, std::shared_ptr<Scope> scope)
        : evaluator_(evaluator), outer_(std::exchange(evaluator.scope_, std::move(scope))) {}
    ~Inside() { evaluator_.scope_ = std::move(outer_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Evaluator& evaluator_;
    std::shared_ptr<Scope> outer_;
  };

  // Collects the output during its lifetime.
  class Redirect {
   public:
    explicit Redirect(Evaluator& evaluator)
        : captured_(evaluator.rt_), evaluator_(evaluator), outer_(std::exchange(evaluator.out_, &captured_)) {}
    ~Redirect() { evaluator_.out_ = outer_; }
    Redirect(const Redirect&) = delete;
    Redirect& operator=(const Redirect&) = delete;
    TextBuilder& captured() { return captured_; }

   private:
    TextBuilder captured_;
    Evaluator& evaluator_;
    TextBuilder* outer_;
  };

  Value Eval(const Expr& expr);
  Value EvalNode(const Constant& node);
  Value EvalNode(const Name& node);
  Value EvalNode(const NamespaceRef& node);
  Value EvalNode(const ListExpr& node);
  Value EvalNode(const DictExpr& node);
  Value EvalNode(const Attribute& node);
  Value EvalNode(const Item& node);
  Value EvalNode(const Slice& node);
  Value EvalNode(const Call& node);
  Value EvalNode(const FilterExpr& node);
  Value EvalNode(const TestExpr& node);
  Value EvalNode(const Unary& node);
  Value EvalNode(const BinaryExpr& node);
  Value EvalNode(const Logical& node);
  Value EvalNode(const ConcatExpr& node);
  Value EvalNode(const CompareExpr& node);
  Value EvalNode(const Conditional& node);
  Value EvalOrNone(const ExprPtr& expr) { return expr != nullptr ? Eval(*expr) : Value(); }
  CallArgs EvalArgs(const ArgList& args);
  Value CallValue(const Value& callee, CallArgs args);
  // The namespace whose list `node` changes; none if it is something else.
  std::optional<Value> HolderOfChanged(const Call& node) const;
  Value ApplyFilters(const Expr& chain, const Value& body);
  Value ApplyFilter(const FilterExpr& node, const Value& input);

  Flow Exec(const Body& body);
  Flow ExecNode(const Output& node);
  Flow ExecNode(const If& node);
  Flow ExecNode(const For& node);
  Flow ExecNode(const Set& node);
  Flow ExecNode(const SetBlock& node);
  Flow ExecNode(const With& node);
  Flow ExecNode(const MacroStmt& node);
  Flow ExecNode(const CallBlock& node);
  Flow ExecNode(const FilterBlock& node);
  Flow ExecNode(const ScopeBlock& node);
  Flow ExecNode(const LoopControl& node);
  void Assign(const Expr& target, const Value& value);
  Flow RunLoop(const For& node, const std::shared_ptr<Scope>& outer, const Value& iterable, int depth);
  // The output of `body`, in a scope of its own on top of `scope`.
  Value Capture(const Body& body, std::shared_ptr<Scope> scope);
  void Emit(const Value& value);

  const Template& template_;
  Runtime& rt_;
  uint64_t max_output_bytes_;
  std::shared_ptr<Scope> root_;
  std::shared_ptr<Scope> scope_;
  TextBuilder* out_ = nullptr;
  std::unordered_map<std::string_view, SymbolId> symbols_;
};

}  // namespace inferflux::text::jinja
