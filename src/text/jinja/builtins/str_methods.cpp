#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/builtins/strings.h"
#include "text/jinja/format/html.h"
#include "text/jinja/format/str_format.h"
#include "text/jinja/value/iterate.h"
#include "text/jinja/value/traced_chars.h"

namespace inferflux::text::jinja {
namespace {

template <CaseMap first, CaseMap rest>
Value Map(Runtime& rt, const Value& self, const Arguments&) {
  return MapCase(rt, *self.AsStr(), first, rest);
}

Value SwapCase(Runtime& rt, const Value& self, const Arguments&) {
  const Str& str = *self.AsStr();
  rt.meter().Step(str.chars() / 4);
  TextBuilder out(rt);
  std::string mapped;
  ForEachChar(str.text(), [&](size_t byte, CodePoint c, bool trusted) {
    mapped.clear();
    if (IsUpper(c.value)) {
      AppendMapped(mapped, str.view(), byte, CaseMap::kLower);
    } else if (IsLower(c.value)) {
      AppendMapped(mapped, str.view(), byte, CaseMap::kUpper);
    } else {
      AppendUtf8(mapped, c.value);
    }
    out.Append(mapped, trusted);
  });
  return MakeStr(rt, out, str.markup);
}

// str.title: a letter after anything uncased starts a word.
Value Title(Runtime& rt, const Value& self, const Arguments&) {
  const Str& str = *self.AsStr();
  rt.meter().Step(str.chars() / 4);
  TextBuilder out(rt);
  std::string mapped;
  bool in_word = false;
  ForEachChar(str.text(), [&](size_t byte, CodePoint c, bool trusted) {
    mapped.clear();
    AppendMapped(mapped, str.view(), byte, in_word ? CaseMap::kLower : CaseMap::kTitle);
    out.Append(mapped, trusted);
    in_word = IsCased(c.value);
  });
  return MakeStr(rt, out, str.markup);
}

// A Markup escapes what it inserts into itself.
Str Inserted(Runtime& rt, const Str& self, const Str& argument) {
  return self.markup ? Escape(rt, argument) : argument;
}

Value ReplaceMethod(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  return Replace(rt, str, args.Text(0), Inserted(rt, str, args.Text(1)), args.Int(2, -1));
}

template <Side side>
Value PadMethod(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  const int64_t width = args.Int(0, 0);
  if (args[1] == nullptr) return Pad(rt, str, width, nullptr, side);
  const Str fill = Inserted(rt, str, args.Text(1));
  return Pad(rt, str, width, &fill, side);
}

Value ZFill(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  const int64_t zeros = args.Int(0, 0) - static_cast<int64_t>(str.chars());
  if (zeros <= 0) return self;
  TextBuilder out(rt);
  const size_t sign = str.view().starts_with('+') || str.view().starts_with('-') ? 1 : 0;
  out.AppendSlice(str.text(), 0, sign);
  out.Repeat("0", zeros, false);
  out.AppendSlice(str.text(), sign, str.view().size());
  return MakeStr(rt, out, str.markup);
}

Value ExpandTabs(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  rt.meter().Step(str.chars() / 4);
  const int64_t tab = args.Int(0, 8);
  TextBuilder out(rt);
  int64_t column = 0;
  ForEachChar(str.text(), [&](size_t byte, CodePoint c, bool trusted) {
    if (c.value == '\t') {
      const int64_t spaces = tab > 0 ? tab - column % tab : 0;
      out.Repeat(" ", spaces, trusted);
      column += spaces;
      return;
    }
    out.AppendSlice(str.text(), byte, byte + c.size);
    column = c.value == '\n' || c.value == '\r' ? 0 : column + 1;
  });
  return MakeStr(rt, out, str.markup);
}

Value JoinMethod(Runtime& rt, const Value& self, const Arguments& args) {
  return Join(rt, *self.AsStr(), Collect(rt, args.At(0)));
}

Value FormatMethod(Runtime& rt, const Value& self, const Arguments& args) {
  const auto fields = NewDict(rt);
  for (const auto& [name, value] : args.raw().keyword) fields->Set(MakeStr(rt, name, false), value);
  return FormatBraces(rt, *self.AsStr(), args.raw().positional, Value::DictPtr(fields));
}

Value FormatMap(Runtime& rt, const Value& self, const Arguments& args) {
  return FormatBraces(rt, *self.AsStr(), {}, args.At(0));
}

constexpr Builtin kStrMethods[] = {
    {"upper", {}, 0, &Map<CaseMap::kUpper, CaseMap::kUpper>},
    {"lower", {}, 0, &Map<CaseMap::kLower, CaseMap::kLower>},
    {"casefold", {}, 0, &Map<CaseMap::kFold, CaseMap::kFold>},
    {"capitalize", {}, 0, &Map<CaseMap::kTitle, CaseMap::kLower>},
    {"swapcase", {}, 0, &SwapCase},
    {"title", {}, 0, &Title},
    {"replace", {"old", "new", "count"}, 2, &ReplaceMethod},
    {"ljust", {"width", "fillchar"}, 1, &PadMethod<Side::kLeft>},
    {"rjust", {"width", "fillchar"}, 1, &PadMethod<Side::kRight>},
    {"center", {"width", "fillchar"}, 1, &PadMethod<Side::kBoth>},
    {"zfill", {"width"}, 1, &ZFill},
    {"expandtabs", {"tabsize"}, 0, &ExpandTabs},
    {"join", {"iterable"}, 1, &JoinMethod},
    {"format", {}, kVariadic, &FormatMethod},
    {"format_map", {"mapping"}, 1, &FormatMap},
};

}  // namespace

std::span<const Builtin> StrMethods() { return kStrMethods; }

}  // namespace inferflux::text::jinja
