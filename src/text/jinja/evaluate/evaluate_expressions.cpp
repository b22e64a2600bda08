#include "text/jinja/evaluate/access.h"
#include "text/jinja/evaluate/evaluator.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/value/held_list.h"
#include "text/jinja/value/iterate.h"

namespace inferflux::text::jinja {

Value Evaluator::Eval(const Expr& expr) {
  const Meter::Level level(rt_.meter());
  rt_.meter().Step();
  rt_.line = expr.line;
  return std::visit([this](const auto& node) { return EvalNode(node); }, expr.node);
}

Value Evaluator::EvalNode(const Constant& node) { return node.value; }

Value Evaluator::EvalNode(const Name& node) {
  if (const Value* value = scope_->Find(node.symbol)) return *value;
  const std::string& name = template_.names[node.symbol];
  if (const Builtin* function = FindFunction(name)) return BindMethod(rt_, Value(), *function);
  return MakeUndefined(rt_, "'{}' is undefined", name);
}

Value Evaluator::EvalNode(const NamespaceRef& node) {
  Raise("'{}.{}' can only be assigned to", template_.names[node.symbol], node.attribute);
}

Value Evaluator::EvalNode(const ListExpr& node) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const ExprPtr& item : node.items) items.push_back(Eval(*item));
  return MakeList(rt_, std::move(items), node.is_tuple ? SequenceType::kTuple : SequenceType::kList);
}

Value Evaluator::EvalNode(const DictExpr& node) {
  const auto dict = NewDict(rt_);
  for (const auto& [key, value] : node.items) {
    const Value key_value = Eval(*key);
    dict->Set(key_value, Eval(*value));
  }
  return Value::DictPtr(dict);
}

Value Evaluator::EvalNode(const Attribute& node) {
  const Value object = Eval(*node.object);
  return GetAttribute(rt_, object, node.name);
}

Value Evaluator::EvalNode(const Item& node) {
  const Value object = Eval(*node.object);
  if (const Slice* slice = std::get_if<Slice>(&node.key->node)) {
    const Value start = EvalOrNone(slice->start);
    const Value stop = EvalOrNone(slice->stop);
    return GetSlice(rt_, object, start, stop, EvalOrNone(slice->step));
  }
  return GetItem(rt_, object, Eval(*node.key));
}

Value Evaluator::EvalNode(const Slice&) { Raise("a slice must be alone in its brackets"); }

CallArgs Evaluator::EvalArgs(const ArgList& args) {
  CallArgs out;
  for (const Arg& arg : args.args) {
    if (arg.name.empty()) {
      out.positional.push_back(Eval(*arg.value));
    } else {
      out.keyword.emplace_back(arg.name, Eval(*arg.value));
    }
  }
  if (args.varargs != nullptr) {
    for (Value& value : Collect(rt_, Eval(*args.varargs))) out.positional.push_back(std::move(value));
  }
  if (args.kwargs != nullptr) {
    const Value kwargs = Eval(*args.kwargs);
    const DictData* dict = kwargs.AsDict();
    if (dict == nullptr) Raise("the argument after ** must be a mapping, not {}", kwargs.TypeName());
    for (const auto& [key, value] : dict->entries) {
      if (!key.IsStr()) Raise("keywords must be strings");
      out.keyword.emplace_back(key.AsStr()->view(), value);
    }
  }
  return out;
}

Value Evaluator::CallValue(const Value& callee, CallArgs args) {
  RaiseIfUndefined(callee);
  Object* object = callee.AsObject();
  if (object == nullptr) Raise("'{}' object is not callable", callee.TypeName());
  for (size_t i = 0; i < args.keyword.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (args.keyword[i].first == args.keyword[j].first) {
        Raise("multiple values for the keyword argument '{}'", Shorten(args.keyword[i].first));
      }
    }
  }
  return object->Call(rt_, std::move(args));
}

std::optional<Value> Evaluator::HolderOfChanged(const Call& node) const {
  const auto* method = std::get_if<Attribute>(&node.callee->node);
  const auto* held = method != nullptr ? std::get_if<Attribute>(&method->object->node) : nullptr;
  const auto* name = held != nullptr ? std::get_if<Name>(&held->object->node) : nullptr;
  const Value* holder = name != nullptr && ChangesHeldList(method->name) ? scope_->Find(name->symbol) : nullptr;
  auto* space = holder != nullptr ? holder->As<Namespace>() : nullptr;
  const auto list = space != nullptr ? space->GetAttr(rt_, held->name) : std::nullopt;
  return list && list->AsList() != nullptr ? std::optional(*holder) : std::nullopt;
}

Value Evaluator::EvalNode(const Call& node) {
  const int line = rt_.line;
  if (const auto holder = HolderOfChanged(node)) {
    const auto& method = std::get<Attribute>(node.callee->node);
    CallArgs args = EvalArgs(node.args);
    rt_.line = line;
    const std::string& list = std::get<Attribute>(method.object->node).name;
    return ChangeHeldList(rt_, *holder->As<Namespace>(), list, method.name, std::move(args));
  }
  const Value callee = Eval(*node.callee);
  CallArgs args = EvalArgs(node.args);
  rt_.line = line;
  return CallValue(callee, std::move(args));
}

Value Evaluator::ApplyFilter(const FilterExpr& node, const Value& input) {
  const int line = rt_.line;
  CallArgs args = EvalArgs(node.args);
  rt_.line = line;
  if (node.filter == nullptr) Raise("there is no filter '{}'", node.name);
  return CallBuiltin(rt_, *node.filter, input, std::move(args));
}

Value Evaluator::EvalNode(const FilterExpr& node) { return ApplyFilter(node, Eval(*node.input)); }

Value Evaluator::ApplyFilters(const Expr& chain, const Value& body) {
  const auto& node = std::get<FilterExpr>(chain.node);
  return ApplyFilter(node, node.input != nullptr ? ApplyFilters(*node.input, body) : body);
}

Value Evaluator::EvalNode(const TestExpr& node) {
  const int line = rt_.line;
  const Value input = Eval(*node.input);
  CallArgs args = EvalArgs(node.args);
  rt_.line = line;
  if (node.test == nullptr) Raise("there is no test '{}'", node.name);
  return CallBuiltin(rt_, *node.test, input, std::move(args));
}

Value Evaluator::EvalNode(const Unary& node) {
  const Value operand = Eval(*node.operand);
  switch (node.op) {
    case Unary::Op::kNot:
      return Value::Bool(!IsTrue(rt_, operand));
    case Unary::Op::kNegate:
      return Negate(rt_, operand);
    case Unary::Op::kPlus:
      return Plus(rt_, operand);
  }
  return Value();
}

Value Evaluator::EvalNode(const BinaryExpr& node) {
  const Value left = Eval(*node.left);
  const Value right = Eval(*node.right);
  return Binary(rt_, node.op, left, right);
}

Value Evaluator::EvalNode(const Logical& node) {
  Value left = Eval(*node.left);
  return IsTrue(rt_, left) == node.is_and ? Eval(*node.right) : left;
}

Value Evaluator::EvalNode(const ConcatExpr& node) {
  std::vector<Value> parts;
  parts.reserve(node.parts.size());
  for (const ExprPtr& part : node.parts) parts.push_back(Eval(*part));
  return Concat(rt_, parts);
}

Value Evaluator::EvalNode(const CompareExpr& node) {
  Value left = Eval(*node.first);
  for (const auto& [op, operand] : node.rest) {
    Value right = Eval(*operand);
    if (!Compare(rt_, op, left, right)) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Value Evaluator::EvalNode(const Conditional& node) {
  const int line = rt_.line;
  if (IsTrue(rt_, Eval(*node.test))) return Eval(*node.then);
  if (node.otherwise != nullptr) return Eval(*node.otherwise);
  return MakeUndefined(rt_, "the inline if-expression on line {} was false and has no else", line);
}

}  // namespace inferflux::text::jinja
