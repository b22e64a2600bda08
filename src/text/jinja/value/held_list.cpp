#include "text/jinja/value/held_list.h"

#include <utility>
#include <vector>

#include "text/jinja/builtins/builtin.h"

namespace inferflux::text::jinja {
namespace {

constexpr Builtin kAppend = {"append", {"object"}, 1, nullptr};
constexpr Builtin kPop = {"pop", {"index"}, 0, nullptr};

}  // namespace

bool ChangesHeldList(std::string_view method) { return method == kAppend.name || method == kPop.name; }

Value ChangeHeldList(Runtime& rt, Namespace& space, std::string_view name, std::string_view method, CallArgs args) {
  const bool append = method == kAppend.name;
  const Arguments bound(append ? kAppend : kPop, std::move(args));
  const Value held = space.GetAttr(rt, name).value_or(Value());
  if (held.AsList() == nullptr) Raise("'{}' object has no attribute '{}'", held.TypeName(), method);
  const std::vector<Value>& old = held.AsList()->items;
  rt.meter().Step(old.size());
  rt.meter().CheckRoom((old.size() + 1) * sizeof(Value));
  std::vector<Value> items = old;
  Value out;
  if (append) {
    items.push_back(bound.At(0));
  } else {
    const auto size = static_cast<int64_t>(items.size());
    int64_t at = bound.Int(0, -1);
    if (at < 0) at += size;
    if (at < 0 || at >= size) Raise("pop from a list of {}: there is no such item", size);
    out = items[static_cast<size_t>(at)];
    items.erase(items.begin() + at);
  }
  space.Set(MakeStr(rt, name, true), MakeList(rt, std::move(items)));
  return out;
}

}  // namespace inferflux::text::jinja
