#include "text/jinja/evaluate/macro.h"

#include <algorithm>

namespace inferflux::text::jinja {
namespace {

// Removes the keyword argument `name` from `args` and returns it.
std::optional<Value> TakeKeyword(CallArgs& args, std::string_view name) {
  const auto found =
      std::find_if(args.keyword.begin(), args.keyword.end(), [&](const auto& each) { return each.first == name; });
  if (found == args.keyword.end()) return std::nullopt;
  Value value = std::move(found->second);
  args.keyword.erase(found);
  return value;
}

}  // namespace

void Macro::Repr(Runtime&, TextBuilder& out) const {
  out.Made(definition_.name.empty() ? "<Macro anonymous>" : fmt::format("<Macro '{}'>", definition_.name));
}

std::optional<Value> Macro::GetAttr(Runtime& rt, std::string_view name) {
  if (name == "name") return MakeStr(rt, definition_.name, true);
  if (name == "catch_kwargs") return Value::Bool(definition_.uses_kwargs);
  if (name == "catch_varargs") return Value::Bool(definition_.uses_varargs);
  if (name == "caller") return Value::Bool(definition_.uses_caller);
  if (name != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (const Parameter& parameter : definition_.parameters) names.push_back(MakeStr(rt, parameter.name, true));
  return MakeTuple(rt, std::move(names));
}

Value Macro::Call(Runtime&, CallArgs args) { return evaluator_.CallMacro(*this, std::move(args)); }

Value Evaluator::CallMacro(const Macro& macro, CallArgs args) {
  const Meter::Level level(rt_.meter());
  const MacroDefinition& definition = macro.definition();
  const auto scope = std::make_shared<Scope>(macro.closure());
  const auto& parameters = definition.parameters;
  std::vector<const Parameter*> absent;
  bool has_caller = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::optional<Value> given;
    if (i < args.positional.size()) {
      given = args.positional[i];
    } else {
      given = TakeKeyword(args, parameters[i].name);
    }
    has_caller |= parameters[i].name == "caller";
    if (given) {
      scope->Set(parameters[i].symbol, std::move(*given));
    } else {
      absent.push_back(&parameters[i]);
    }
  }
  if (definition.uses_caller && !has_caller) {
    std::optional<Value> caller = TakeKeyword(args, "caller");
    const bool defined = caller && !caller->IsNone();
    scope->Set(template_.caller, defined ? std::move(*caller) : MakeUndefined(rt_, "no caller defined"));
  }
  if (definition.uses_kwargs) {
    const auto rest = NewDict(rt_);
    for (const auto& [name, value] : args.keyword) rest->Set(MakeStr(rt_, name, false), value);
    scope->Set(template_.kwargs, Value::DictPtr(rest));
  } else if (!args.keyword.empty()) {
    Raise("macro '{}' takes no keyword argument '{}'", definition.name, Shorten(args.keyword[0].first));
  }
  const size_t used = std::min(parameters.size(), args.positional.size());
  if (definition.uses_varargs) {
    std::vector<Value> rest(args.positional.begin() + static_cast<ptrdiff_t>(used), args.positional.end());
    scope->Set(template_.varargs, MakeTuple(rt_, std::move(rest)));
  } else if (args.positional.size() > used) {
    Raise("macro '{}' takes not more than {} argument(s)", definition.name, parameters.size());
  }
  {
    const Inside inside(*this, scope);
    for (const Parameter* parameter : absent) {
      scope->Set(parameter->symbol, parameter->fallback != nullptr
                                        ? Eval(*parameter->fallback)
                                        : MakeUndefined(rt_, "parameter '{}' was not provided", parameter->name));
    }
  }
  return Capture(definition.body, scope);
}

}  // namespace inferflux::text::jinja
