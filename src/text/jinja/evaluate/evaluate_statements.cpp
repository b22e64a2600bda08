#include "text/jinja/evaluate/access.h"
#include "text/jinja/evaluate/evaluator.h"
#include "text/jinja/evaluate/loop.h"
#include "text/jinja/evaluate/macro.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/value/iterate.h"
#include "text/jinja/value/objects.h"

namespace inferflux::text::jinja {

Evaluator::Evaluator(const Template& source, Runtime& rt, uint64_t max_output_bytes)
    : template_(source),
      rt_(rt),
      max_output_bytes_(max_output_bytes),
      root_(std::make_shared<Scope>(nullptr)),
      scope_(root_) {
  rt_.Register(root_);
  for (size_t i = 0; i < template_.names.size(); ++i) symbols_.emplace(template_.names[i], static_cast<SymbolId>(i));
}

void Evaluator::SetVariable(std::string_view name, const Value& value) {
  const auto symbol = symbols_.find(name);
  if (symbol != symbols_.end()) root_->Set(symbol->second, value);
}

TracedText Evaluator::Render() {
  TextBuilder out(rt_);
  out_ = &out;
  Exec(template_.body);
  return out.Take();
}

void Evaluator::Emit(const Value& value) {
  AppendStr(rt_, *out_, value);
  if (out_->size() > max_output_bytes_) RaiseLimit("the template prints more than {} bytes", max_output_bytes_);
}

Value Evaluator::Capture(const Body& body, std::shared_ptr<Scope> scope) {
  Redirect redirect(*this);
  const Inside inside(*this, std::move(scope));
  Exec(body);
  return MakeStr(rt_, redirect.captured());
}

Evaluator::Flow Evaluator::Exec(const Body& body) {
  const Meter::Level level(rt_.meter());
  for (const Stmt& statement : body) {
    rt_.meter().Step();
    rt_.line = statement.line;
    const Flow flow = std::visit([this](const auto& node) { return ExecNode(node); }, statement.node);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Evaluator::Flow Evaluator::ExecNode(const Output& node) {
  for (const ExprPtr& part : node.parts) Emit(Eval(*part));
  return Flow::kNext;
}

Evaluator::Flow Evaluator::ExecNode(const If& node) {
  for (const auto& [test, body] : node.branches) {
    if (IsTrue(rt_, Eval(*test))) return Exec(body);
  }
  return Exec(node.otherwise);
}

void Evaluator::Assign(const Expr& target, const Value& value) {
  if (const Name* name = std::get_if<Name>(&target.node)) return scope_->Set(name->symbol, value);
  if (const NamespaceRef* ref = std::get_if<NamespaceRef>(&target.node)) {
    const Value* object = scope_->Find(ref->symbol);
    Namespace* space = object != nullptr ? object->As<Namespace>() : nullptr;
    if (space == nullptr) Raise("cannot assign attribute on non-namespace object '{}'", template_.names[ref->symbol]);
    return space->Set(MakeStr(rt_, ref->attribute, true), value);
  }
  const auto& targets = std::get<ListExpr>(target.node).items;
  const std::vector<Value> items = Collect(rt_, value);
  if (items.size() != targets.size()) {
    Raise("cannot unpack {} value(s) into {} name(s)", items.size(), targets.size());
  }
  for (size_t i = 0; i < items.size(); ++i) Assign(*targets[i], items[i]);
}

Evaluator::Flow Evaluator::ExecNode(const Set& node) {
  Assign(*node.target, Eval(*node.value));
  return Flow::kNext;
}

Evaluator::Flow Evaluator::ExecNode(const SetBlock& node) {
  Value value = Capture(node.body, std::make_shared<Scope>(scope_));
  if (node.filter != nullptr) value = ApplyFilters(*node.filter, value);
  Assign(*node.target, value);
  return Flow::kNext;
}

Evaluator::Flow Evaluator::ExecNode(const With& node) {
  const auto scope = std::make_shared<Scope>(scope_);
  for (const auto& [target, expr] : node.bindings) {
    const Value value = Eval(*expr);  // outside: a binding does not see its neighbours
    const Inside inside(*this, scope);
    Assign(*target, value);
  }
  const Inside inside(*this, scope);
  return Exec(node.body);
}

Evaluator::Flow Evaluator::ExecNode(const MacroStmt& node) {
  rt_.Register(scope_);
  scope_->Set(node.macro.symbol, Value::ObjectPtr(MakeObject<Macro>(rt_, *this, node.macro, scope_)));
  return Flow::kNext;
}

Evaluator::Flow Evaluator::ExecNode(const CallBlock& node) {
  const auto& call = std::get<Call>(node.call->node);
  const Value callee = Eval(*call.callee);
  CallArgs args = EvalArgs(call.args);
  args.keyword.emplace_back("caller", Value::ObjectPtr(MakeObject<Macro>(rt_, *this, node.caller, scope_)));
  Emit(CallValue(callee, std::move(args)));
  return Flow::kNext;
}

Evaluator::Flow Evaluator::ExecNode(const FilterBlock& node) {
  const Value body = Capture(node.body, std::make_shared<Scope>(scope_));
  Emit(ApplyFilters(*node.filter, body));
  return Flow::kNext;
}

Evaluator::Flow Evaluator::ExecNode(const ScopeBlock& node) {
  const Inside inside(*this, std::make_shared<Scope>(node.sees_locals ? scope_ : root_));
  return Exec(node.body);
}

Evaluator::Flow Evaluator::ExecNode(const LoopControl& node) { return node.is_break ? Flow::kBreak : Flow::kContinue; }

Evaluator::Flow Evaluator::ExecNode(const For& node) { return RunLoop(node, scope_, Eval(*node.iterable), 0); }

Value Evaluator::RenderLoop(const For& loop, const std::shared_ptr<Scope>& outer, const Value& iterable, int depth) {
  const Meter::Level level(rt_.meter());
  Redirect redirect(*this);
  RunLoop(loop, outer, iterable, depth);
  return MakeStr(rt_, redirect.captured());
}

bool Evaluator::PassesFilter(const For& loop, const std::shared_ptr<Scope>& outer, const Value& item) {
  const Inside inside(*this, std::make_shared<Scope>(outer));
  Assign(*loop.target, item);
  return IsTrue(rt_, Eval(*loop.filter));
}

Evaluator::Flow Evaluator::RunLoop(const For& node, const std::shared_ptr<Scope>& outer, const Value& iterable,
                                   int depth) {
  auto iterator = Iterate(rt_, iterable);
  if (node.filter != nullptr) {
    const std::shared_ptr<Iterator> all = std::move(iterator);
    iterator = std::make_unique<FunctionIterator>([this, &node, outer, all](Runtime& rt) -> std::optional<Value> {
      while (auto item = all->Next(rt)) {
        if (PassesFilter(node, outer, *item)) return item;
      }
      return std::nullopt;
    });
  }
  const auto loop = MakeObject<Loop>(rt_, *this, node, outer, iterable, std::move(iterator), depth);
  struct Finish {
    Loop& loop;
    ~Finish() { loop.Finish(); }
  } const finish{*loop};
  // As in Jinja2, the else branch runs unless some iteration reached the end of the body.
  bool completed = false;
  while (loop->Advance(rt_)) {
    const auto scope = std::make_shared<Scope>(outer);
    const Inside inside(*this, scope);
    scope->Set(template_.loop, Value::ObjectPtr(loop));
    Assign(*node.target, loop->current());
    const Flow flow = Exec(node.body);
    if (flow == Flow::kBreak) break;
    completed |= flow == Flow::kNext;
  }
  if (completed) return Flow::kNext;
  const Inside inside(*this, std::make_shared<Scope>(outer));
  return Exec(node.otherwise);
}

}  // namespace inferflux::text::jinja
