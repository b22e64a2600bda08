#include <algorithm>

#include "text/jinja/builtins/attribute_getter.h"
#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/value/iterate.h"

namespace inferflux::text::jinja {
namespace {

std::string_view NameOf(const Value& value, std::string_view what) {
  const Str* name = value.AsStr();
  if (name == nullptr) Raise("the name of a {} must be str, not {}", what, value.TypeName());
  return name->view();
}

// The arguments from the `skip`th on.
CallArgs Rest(const CallArgs& args, size_t skip) {
  CallArgs rest;
  rest.positional.assign(args.positional.begin() + static_cast<ptrdiff_t>(skip), args.positional.end());
  rest.keyword = args.keyword;
  return rest;
}

int DepthOf(const Value& self, const CallArgs& args) {
  int depth = self.Depth();
  for (const Value& value : args.positional) depth = std::max(depth, value.Depth());
  for (const auto& [name, value] : args.keyword) depth = std::max(depth, value.Depth());
  return depth;
}

using Step = std::function<std::optional<Value>(Runtime&, Value)>;

// A generator over self. As in Jinja2, nothing happens before its first item is requested, not even a look at the
// arguments; a false value has no items. `make_step` creates the function that turns an item into the next value, or
// skips it.
Value MakeLazy(Runtime& rt, const Value& self, const CallArgs& args, std::function<Step(Runtime&)> make_step) {
  return MakeGenerator(rt, DepthOf(self, args),
                       [=, source = std::shared_ptr<Iterator>(), step = Step(),
                        done = false](Runtime& rt) mutable -> std::optional<Value> {
                         if (source == nullptr && !done) {
                           done = !IsTrue(rt, self);
                           if (done) return std::nullopt;
                           step = make_step(rt);
                           source = Iterate(rt, self);
                         }
                         while (!done) {
                           auto item = source->Next(rt);
                           if (!item) break;
                           if (auto value = step(rt, std::move(*item))) return value;
                         }
                         done = true;
                         return std::nullopt;
                       });
}

Step MakeMapStep(Runtime& rt, const CallArgs& args) {
  const auto named = [&](std::string_view name) -> const Value* {
    for (const auto& [key, value] : args.keyword) {
      if (key == name) return &value;
    }
    return nullptr;
  };
  if (args.positional.empty() && named("attribute") != nullptr) {
    for (const auto& [key, value] : args.keyword) {
      if (key != "attribute" && key != "default") Raise("unexpected keyword argument '{}'", Shorten(key));
    }
    const AttributeGetter getter(rt, named("attribute"), named("default"));
    return [getter](Runtime& rt, Value item) { return std::optional(getter.Get(rt, std::move(item))); };
  }
  if (args.positional.empty()) Raise("map requires a filter argument");
  return [name = args.positional[0], rest = Rest(args, 1)](Runtime& rt, Value item) {
    return std::optional(CallFilter(rt, NameOf(name, "filter"), item, rest));
  };
}

Value Map(Runtime& rt, const Value& self, const Arguments& args) {
  return MakeLazy(rt, self, args.raw(), [raw = args.raw()](Runtime& rt) { return MakeMapStep(rt, raw); });
}

// Passes on the items for which the test (by default: truth) of the item or its attribute gives `wanted`.
template <bool wanted, bool by_attribute>
Step MakeSelectStep(Runtime& rt, const CallArgs& args) {
  if (by_attribute && args.positional.empty()) Raise("missing parameter for attribute name");
  const AttributeGetter getter(rt, by_attribute ? &args.positional[0] : nullptr);
  constexpr size_t kTest = by_attribute ? 1 : 0;
  if (args.positional.size() <= kTest) {
    return [getter](Runtime& rt, Value item) {
      return IsTrue(rt, getter.Get(rt, item)) == wanted ? std::optional(std::move(item)) : std::nullopt;
    };
  }
  return [getter, name = args.positional[kTest], rest = Rest(args, kTest + 1)](Runtime& rt, Value item) {
    const bool passes = CallTest(rt, NameOf(name, "test"), getter.Get(rt, item), rest);
    return passes == wanted ? std::optional(std::move(item)) : std::nullopt;
  };
}

template <bool wanted, bool by_attribute>
Value Select(Runtime& rt, const Value& self, const Arguments& args) {
  return MakeLazy(rt, self, args.raw(),
                  [raw = args.raw()](Runtime& rt) { return MakeSelectStep<wanted, by_attribute>(rt, raw); });
}

constexpr Builtin kSelectionFilters[] = {
    {"map", {}, kVariadic, &Map},
    {"select", {}, kVariadic, &Select<true, false>},
    {"reject", {}, kVariadic, &Select<false, false>},
    {"selectattr", {}, kVariadic, &Select<true, true>},
    {"rejectattr", {}, kVariadic, &Select<false, true>},
};

}  // namespace

Value CallFilter(Runtime& rt, std::string_view name, const Value& value, CallArgs args) {
  const Builtin* filter = FindFilter(name);
  if (filter == nullptr) Raise("there is no filter '{}'", Shorten(name));
  return CallBuiltin(rt, *filter, value, std::move(args));
}

bool CallTest(Runtime& rt, std::string_view name, const Value& value, CallArgs args) {
  const Builtin* test = FindTest(name);
  if (test == nullptr) Raise("there is no test '{}'", Shorten(name));
  return IsTrue(rt, CallBuiltin(rt, *test, value, std::move(args)));
}

std::span<const Builtin> SelectionFilters() { return kSelectionFilters; }

}  // namespace inferflux::text::jinja
