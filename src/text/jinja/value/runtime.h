// The state that every operation of a render can reach: the meter, the clock, and the objects that must be unlinked at
// its end.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value/meter.h"
#include "text/jinja/value/object.h"
#include "text/jinja/value/value.h"

namespace inferflux::text::jinja {

// An object whose content templates change, so that it can come to hold itself. The runtime keeps it alive until the
// end of the render and then empties it: no cycle leaks, and no long chain is destroyed by deep recursion.
class Mutable {
 public:
  virtual ~Mutable() = default;
  virtual void Unlink() = 0;
};

class Runtime {
 public:
  Runtime(const Meter::Limits& limits, std::chrono::sys_seconds now) : meter_(limits), now_(now) {}
  ~Runtime() {
    for (const auto& each : mutables_) each->Unlink();
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Meter& meter() { return meter_; }
  std::chrono::sys_seconds now() const { return now_; }

  void Register(std::shared_ptr<Mutable> object) {
    charges_.emplace_back(&meter_, sizeof(object) + 64);
    mutables_.push_back(std::move(object));
  }

  // The current line, for messages.
  int line = 0;

 private:
  Meter meter_;
  std::chrono::sys_seconds now_;
  std::vector<MemoryCharge> charges_;
  std::vector<std::shared_ptr<Mutable>> mutables_;
};

// Builds a text piece by piece, and checks each piece against the meter before it copies it.
class TextBuilder {
 public:
  explicit TextBuilder(Runtime& rt) : meter_(rt.meter()) {}
  ~TextBuilder() { meter_.Release(charged_); }
  TextBuilder(const TextBuilder&) = delete;
  TextBuilder& operator=(const TextBuilder&) = delete;

  void Append(std::string_view bytes, bool trusted) {
    Reserve(bytes.size());
    out_.Append(bytes, trusted);
  }
  void Append(const TracedText& text) { AppendSlice(text, 0, text.size()); }
  void AppendSlice(const TracedText& text, size_t begin, size_t end) {
    if (begin >= end) return;
    Reserve(end - begin);
    out_.AppendSlice(text, begin, end);
  }
  // Text of the engine itself: brackets, padding, escapes. It is not trusted.
  void Made(std::string_view bytes) { Append(bytes, false); }
  void Repeat(std::string_view bytes, int64_t count, bool trusted);

  size_t size() const { return out_.size(); }
  const TracedText& text() const { return out_; }
  TracedText Take() { return std::exchange(out_, TracedText()); }

 private:
  // Charges `bytes` more in advance, in powers of two.
  void Reserve(uint64_t bytes) {
    meter_.Step(bytes / 32);
    const uint64_t needed = out_.size() + bytes;
    if (needed <= charged_) return;
    const uint64_t ahead = std::max(needed, 2 * charged_);
    meter_.Allocate(ahead - charged_);
    charged_ = ahead;
  }

  Meter& meter_;
  TracedText out_;
  uint64_t charged_ = 0;
};

Value MakeStr(Runtime& rt, TracedText text, bool markup = false);
inline Value MakeStr(Runtime& rt, TextBuilder& builder, bool markup = false) {
  return MakeStr(rt, builder.Take(), markup);
}
Value MakeStr(Runtime& rt, std::string_view bytes, bool trusted);
// Bytes [begin, end) of `of`, with the same markup.
Value MakeSlice(Runtime& rt, const Str& of, size_t begin, size_t end);
Value MakeList(Runtime& rt, std::vector<Value> items, SequenceType type = SequenceType::kList);
inline Value MakeTuple(Runtime& rt, std::vector<Value> items) {
  return MakeList(rt, std::move(items), SequenceType::kTuple);
}
std::shared_ptr<DictData> NewDict(Runtime& rt);

// `MakeUndefined(rt, "{} is undefined", name)`. Names from outside go through Shorten().
template <class... Args>
Value MakeUndefined(Runtime& rt, fmt::format_string<Args...> format, Args&&... args) {
  return std::make_shared<const UndefinedData>(&rt.meter(), fmt::format(format, std::forward<Args>(args)...));
}
// Shortens a name or a text for a message.
std::string Shorten(std::string_view text);

template <class T, class... Args>
std::shared_ptr<T> MakeObject(Runtime& rt, Args&&... args) {
  auto object = std::make_shared<T>(std::forward<Args>(args)...);
  object->charge = MemoryCharge(&rt.meter(), sizeof(T) + 64);
  return object;
}

}  // namespace inferflux::text::jinja
