#include "text/jinja/builtins/builtin_tables.h"

#include <algorithm>

#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/format/strftime.h"
#include "text/jinja/value/iterate.h"
#include "text/jinja/value/objects.h"
#include "text/jinja/value/python_characters.h"

namespace inferflux::text::jinja {
namespace {

constexpr uint64_t kMaxRange = 100000;  // as Jinja2's sandbox has it

Value Range(Runtime& rt, const Value&, const Arguments& args) {
  bool trusted = true;
  for (size_t i = 0; i < 3; ++i) {
    if (args[i] != nullptr) trusted = trusted && AsNumber(*args[i]).has_value() && AsNumber(*args[i])->trusted;
  }
  const bool has_start = args[1] != nullptr;
  const int64_t start = has_start ? args.Int(0, 0) : 0;
  const int64_t stop = has_start ? args.Int(1, 0) : args.Int(0, 0);
  const int64_t step = args.Int(2, 1);
  if (step == 0) Raise("range() arg 3 must not be zero");
  auto range = MakeObject<RangeObject>(rt, start, stop, step, trusted);
  if (range->length() > kMaxRange) RaiseLimit("a range of more than {} items", kMaxRange);
  return Value::ObjectPtr(std::move(range));
}

// Converts the arguments of dict() and namespace().
std::shared_ptr<DictData> BuildDict(Runtime& rt, const CallArgs& args, std::string_view what) {
  auto out = NewDict(rt);
  if (args.positional.size() > 1) Raise("{} expected at most 1 argument, got {}", what, args.positional.size());
  if (!args.positional.empty()) {
    const Value& source = args.positional[0];
    if (const DictData* dict = source.AsDict()) {
      for (const auto& [key, value] : dict->entries) out->Set(key, value);
    } else {
      const auto iterator = Iterate(rt, source);
      while (auto item = iterator->Next(rt)) {
        const std::vector<Value> pair = Collect(rt, *item);
        if (pair.size() != 2) Raise("a dict is made of pairs, not of {} item(s)", pair.size());
        out->Set(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : args.keyword) out->Set(MakeStr(rt, name, false), value);
  return out;
}

Value Dict(Runtime& rt, const Value&, const Arguments& args) {
  return Value::DictPtr(BuildDict(rt, args.raw(), "dict"));
}

Value MakeNamespace(Runtime& rt, const Value&, const Arguments& args) {
  auto space = MakeObject<Namespace>(rt, BuildDict(rt, args.raw(), "namespace"));
  rt.Register(space);
  return Value::ObjectPtr(std::move(space));
}

Value MakeCycler(Runtime& rt, const Value&, const Arguments& args) {
  if (args.raw().positional.empty()) Raise("at least one item has to be provided");
  if (!args.raw().keyword.empty()) Raise("cycler() takes no keyword arguments");
  return Value::ObjectPtr(MakeObject<Cycler>(rt, MakeTuple(rt, args.raw().positional)));
}

Value MakeJoiner(Runtime& rt, const Value&, const Arguments& args) {
  return Value::ObjectPtr(MakeObject<Joiner>(rt, args[0] != nullptr ? *args[0] : MakeStr(rt, ", ", true)));
}

Value RaiseException(Runtime& rt, const Value&, const Arguments& args) {
  const Str message = ToStr(rt, args.At(0));
  constexpr size_t kMaxMessage = 1000;
  const size_t shown = ByteOfChar(message.view(), message.chars(), std::min(message.chars(), kMaxMessage));
  Raise("{}", message.view().substr(0, shown));
}

Value StrftimeNow(Runtime& rt, const Value&, const Arguments& args) { return FormatTime(rt, args.Text(0), rt.now()); }

constexpr Builtin kFunctions[] = {
    {"range", {"start", "stop", "step"}, 1, &Range},
    {"dict", {}, kVariadic, &Dict},
    {"namespace", {}, kVariadic, &MakeNamespace},
    {"cycler", {}, kVariadic, &MakeCycler},
    {"joiner", {"sep"}, 0, &MakeJoiner},
    {"raise_exception", {"message"}, 1, &RaiseException},
    {"strftime_now", {"format"}, 1, &StrftimeNow},
};

}  // namespace

std::span<const Builtin> Functions() { return kFunctions; }

}  // namespace inferflux::text::jinja
