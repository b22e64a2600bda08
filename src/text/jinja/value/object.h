// Values with their own behaviour: iterators, ranges, loops, macros, namespaces, functions, bound methods.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value/value.h"

namespace inferflux::text::jinja {

class Runtime;
class TextBuilder;

struct CallArgs {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;
};

class Iterator {
 public:
  virtual ~Iterator() = default;
  virtual std::optional<Value> Next(Runtime& rt) = 0;
};

class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;

  virtual std::string_view TypeName() const = 0;
  virtual void Repr(Runtime& rt, TextBuilder& out) const;
  // How deep values nest inside it (kMaxNesting); 0 if its content is registered with the runtime.
  virtual int Depth() const { return 0; }

  // No value: there is no such attribute, item or length.
  virtual std::optional<Value> GetAttr(Runtime& rt, std::string_view name);
  virtual std::optional<Value> GetItem(Runtime& rt, const Value& key);
  virtual std::optional<size_t> Length(Runtime& rt);
  // Null: not iterable.
  virtual std::unique_ptr<Iterator> Iterate(Runtime& rt);
  virtual std::unique_ptr<Iterator> IterateReversed(Runtime& rt);

  virtual bool IsCallable() const { return false; }
  virtual Value Call(Runtime& rt, CallArgs args);

  MemoryCharge charge;
};

}  // namespace inferflux::text::jinja
