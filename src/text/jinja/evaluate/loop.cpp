#include "text/jinja/evaluate/loop.h"

#include "text/jinja/builtins/builtin.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/value/iterate.h"

namespace inferflux::text::jinja {
namespace {

Value CycleMethod(Runtime&, const Value& self, const Arguments& args) { return self.As<Loop>()->Cycle(args.raw()); }

Value ChangedMethod(Runtime& rt, const Value& self, const Arguments& args) {
  return Value::Bool(self.As<Loop>()->Changed(rt, args.raw()));
}

constexpr Builtin kCycle{"cycle", {}, kVariadic, &CycleMethod};
constexpr Builtin kChanged{"changed", {}, kVariadic, &ChangedMethod};

}  // namespace

Loop::Loop(Evaluator& evaluator, const For& node, std::shared_ptr<Scope> outer, Value iterable,
           std::unique_ptr<Iterator> iterator, int depth)
    : evaluator_(evaluator),
      node_(node),
      outer_(std::move(outer)),
      iterable_(std::move(iterable)),
      iterator_(std::move(iterator)),
      depth_(depth) {}

const std::optional<Value>& Loop::Peek(Runtime& rt) {
  if (!peeked_) next_ = iterator_->Next(rt);
  peeked_ = true;
  return next_;
}

bool Loop::Advance(Runtime& rt) {
  Peek(rt);
  peeked_ = false;
  if (!next_) return false;
  ++index0_;
  previous_ = std::exchange(current_, std::exchange(next_, std::nullopt));
  return true;
}

std::optional<size_t> Loop::Length(Runtime& rt) {
  if (length_) return length_;
  if (node_.filter == nullptr) length_ = jinja::Length(rt, iterable_);
  if (!length_) {
    const bool has_next = Peek(rt).has_value();
    std::vector<Value> rest;
    while (has_next) {
      auto item = iterator_->Next(rt);
      if (!item) break;
      rt.meter().CheckRoom(2 * rest.size() * sizeof(Value));
      rest.push_back(std::move(*item));
    }
    length_ = static_cast<size_t>(index0_ + 1) + (has_next ? 1 : 0) + rest.size();
    iterator_ = IterateItems(std::move(rest));
  }
  return length_;
}

void Loop::Repr(Runtime&, TextBuilder& out) const { out.Made(fmt::format("<LoopContext {}>", index0_ + 1)); }

std::optional<Value> Loop::GetAttr(Runtime& rt, std::string_view name) {
  // The counters belong to the template's own loop, so that <|image_{{ loop.index }}|> can be a control token.
  const auto counter = [](int64_t value) { return Value::Int(value, true); };
  const auto length = [&] { return static_cast<int64_t>(*Length(rt)); };
  if (name == "index") return counter(index0_ + 1);
  if (name == "index0") return counter(index0_);
  if (name == "revindex") return counter(length() - index0_);
  if (name == "revindex0") return counter(length() - index0_ - 1);
  if (name == "length") return counter(length());
  if (name == "depth") return counter(depth_ + 1);
  if (name == "depth0") return counter(depth_);
  if (name == "first") return Value::Bool(index0_ == 0);
  if (name == "last") return Value::Bool(!Peek(rt).has_value());
  if (name == "previtem") return index0_ > 0 ? *previous_ : MakeUndefined(rt, "there is no previous item");
  if (name == "nextitem") {
    const auto& next = Peek(rt);
    return next ? *next : MakeUndefined(rt, "there is no next item");
  }
  if (name == "cycle") return BindMethod(rt, Value::ObjectPtr(shared_from_this()), kCycle);
  if (name == "changed") return BindMethod(rt, Value::ObjectPtr(shared_from_this()), kChanged);
  return std::nullopt;
}

Value Loop::Cycle(const CallArgs& args) const {
  if (args.positional.empty()) Raise("no items for cycling given");
  return args.positional[static_cast<size_t>(index0_) % args.positional.size()];
}

bool Loop::Changed(Runtime& rt, const CallArgs& args) {
  const Value values = MakeTuple(rt, args.positional);
  if (last_changed_ && IsEqual(rt.meter(), *last_changed_, values)) return false;
  last_changed_ = values;
  return true;
}

Value Loop::Call(Runtime&, CallArgs args) {
  if (!node_.recursive) Raise("the loop must have the 'recursive' marker to be called recursively");
  if (args.positional.size() != 1 || !args.keyword.empty()) Raise("loop() takes one argument");
  return evaluator_.RenderLoop(node_, outer_, args.positional[0], depth_ + 1);
}

}  // namespace inferflux::text::jinja
