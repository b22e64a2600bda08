// The `loop` variable.
#pragma once

#include <memory>
#include <optional>

#include "text/jinja/evaluate/evaluator.h"

namespace inferflux::text::jinja {

// Drives an iteration and answers the body's questions about it. Reads the next item early only if the body needs it.
class Loop : public Object {
 public:
  Loop(Evaluator& evaluator, const For& node, std::shared_ptr<Scope> outer, Value iterable,
       std::unique_ptr<Iterator> iterator, int depth);

  // Advances; false at the end.
  bool Advance(Runtime& rt);
  const Value& current() const { return *current_; }
  // Drops what changed() remembers, which may include this loop.
  void Finish() { last_changed_.reset(); }

  std::string_view TypeName() const override { return "LoopContext"; }
  int Depth() const override { return iterable_.Depth() + 1; }
  void Repr(Runtime& rt, TextBuilder& out) const override;
  std::optional<Value> GetAttr(Runtime& rt, std::string_view name) override;
  std::optional<size_t> Length(Runtime& rt) override;
  bool IsCallable() const override { return true; }
  // loop(items): renders the body of a recursive loop with them.
  Value Call(Runtime& rt, CallArgs args) override;

  Value Cycle(const CallArgs& args) const;
  bool Changed(Runtime& rt, const CallArgs& args);

 private:
  const std::optional<Value>& Peek(Runtime& rt);

  Evaluator& evaluator_;
  const For& node_;
  std::shared_ptr<Scope> outer_;
  Value iterable_;
  std::unique_ptr<Iterator> iterator_;
  int depth_;
  int64_t index0_ = -1;
  bool peeked_ = false;
  std::optional<Value> next_;
  std::optional<Value> current_;
  std::optional<Value> previous_;
  std::optional<size_t> length_;
  std::optional<Value> last_changed_;
};

}  // namespace inferflux::text::jinja
