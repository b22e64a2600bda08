// The objects that templates create with functions and methods: range, namespace, cycler, joiner and dict views.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/value/object.h"
#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

class RangeObject : public Object {
 public:
  // step != 0
  RangeObject(int64_t start, int64_t stop, int64_t step, bool trusted);

  std::string_view TypeName() const override { return "range"; }
  void Repr(Runtime& rt, TextBuilder& out) const override;
  std::optional<Value> GetAttr(Runtime& rt, std::string_view name) override;
  std::optional<Value> GetItem(Runtime& rt, const Value& key) override;
  std::optional<size_t> Length(Runtime&) override { return length_; }
  std::unique_ptr<Iterator> Iterate(Runtime& rt) override;
  std::unique_ptr<Iterator> IterateReversed(Runtime& rt) override;
  bool Equals(const RangeObject& other) const;
  uint64_t length() const { return length_; }
  Value At(uint64_t index) const;
  // The range of the items from index `start` to before `stop`; the indices must be within the range or at its ends.
  Value Slice(Runtime& rt, int64_t start, int64_t stop, int64_t step) const;

 private:
  int64_t start_;
  int64_t stop_;
  int64_t step_;
  bool trusted_;
  uint64_t length_;
};

// namespace(): the only thing whose content a template can change.
class Namespace : public Object, public Mutable {
 public:
  explicit Namespace(std::shared_ptr<DictData> attributes) : attributes_(std::move(attributes)) {}

  std::string_view TypeName() const override { return "Namespace"; }
  void Repr(Runtime& rt, TextBuilder& out) const override;
  std::optional<Value> GetAttr(Runtime& rt, std::string_view name) override;
  void Set(const Value& name, const Value& value) { attributes_->Set(name, value); }
  void Unlink() override { attributes_->Clear(); }

 private:
  std::shared_ptr<DictData> attributes_;
};

// dict.keys(), .values(), .items()
class DictView : public Object {
 public:
  enum class Part { kKeys, kValues, kItems };
  DictView(Part part, Value dict) : part_(part), dict_(std::move(dict)) {}

  std::string_view TypeName() const override;
  void Repr(Runtime& rt, TextBuilder& out) const override;
  int Depth() const override { return dict_.Depth() + 2; }
  std::optional<size_t> Length(Runtime&) override { return dict_.AsDict()->entries.size(); }
  std::unique_ptr<Iterator> Iterate(Runtime& rt) override { return MakeIterator(rt, false); }
  std::unique_ptr<Iterator> IterateReversed(Runtime& rt) override { return MakeIterator(rt, true); }

 private:
  std::unique_ptr<Iterator> MakeIterator(Runtime& rt, bool reversed);

  Part part_;
  Value dict_;
};

class Cycler : public Object {
 public:
  explicit Cycler(Value items) : items_(std::move(items)) {}

  std::string_view TypeName() const override { return "Cycler"; }
  int Depth() const override { return items_.Depth(); }
  std::optional<Value> GetAttr(Runtime& rt, std::string_view name) override;
  void Reset() { at_ = 0; }
  Value Next();

 private:
  Value items_;
  size_t at_ = 0;
};

class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}

  std::string_view TypeName() const override { return "Joiner"; }
  int Depth() const override { return separator_.Depth() + 1; }
  bool IsCallable() const override { return true; }
  Value Call(Runtime& rt, CallArgs args) override;

 private:
  Value separator_;
  bool used_ = false;
};

}  // namespace inferflux::text::jinja
