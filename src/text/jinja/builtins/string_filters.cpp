#include <algorithm>

#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/builtins/strings.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/html.h"
#include "text/jinja/format/percent_format.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/value/iterate.h"
#include "text/jinja/value/traced_chars.h"

namespace inferflux::text::jinja {
namespace {

template <CaseMap first, CaseMap rest>
Value MapFilter(Runtime& rt, const Value& self, const Arguments&) {
  return MapCase(rt, SoftStr(rt, self), first, rest);
}

Value String(Runtime& rt, const Value& self, const Arguments&) { return SoftStr(rt, self); }

Value Safe(Runtime& rt, const Value& self, const Arguments&) {
  Str str = SoftStr(rt, self);
  str.markup = true;
  return str;
}

Value EscapeFilter(Runtime& rt, const Value& self, const Arguments&) { return Escape(rt, self); }

Value ForceEscape(Runtime& rt, const Value& self, const Arguments&) { return Escape(rt, ToStr(rt, self)); }

// A word starts after whitespace and after - ( { [ <, unlike in str.title.
Value TitleFilter(Runtime& rt, const Value& self, const Arguments&) {
  const Str str = ToStr(rt, self);
  rt.meter().Step(str.chars() / 4);  // its words may be short
  const auto is_break = [](char32_t c) {
    return IsSpace(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  TextBuilder out(rt);
  const std::string_view text = str.view();
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    const bool breaks = is_break(DecodeAt(text, begin).value);
    while (end < text.size() && is_break(DecodeAt(text, end).value) == breaks) end += DecodeAt(text, end).size;
    const size_t rest = begin + DecodeAt(text, begin).size;
    const Value head = MakeSlice(rt, str, begin, rest);
    const Value tail = MakeSlice(rt, str, rest, end);
    out.Append(MapCase(rt, *head.AsStr(), CaseMap::kUpper, CaseMap::kUpper).AsStr()->text());
    out.Append(MapCase(rt, *tail.AsStr(), CaseMap::kLower, CaseMap::kLower).AsStr()->text());
    begin = end;
  }
  return MakeStr(rt, out);
}

Value Trim(Runtime& rt, const Value& self, const Arguments& args) {
  return Strip(rt, SoftStr(rt, self), args.OptionalText(0), Side::kBoth);
}

Value Center(Runtime& rt, const Value& self, const Arguments& args) {
  return Pad(rt, SoftStr(rt, self), args.Int(0, 80), nullptr, Side::kBoth);
}

Value ReplaceFilter(Runtime& rt, const Value& self, const Arguments& args) {
  const int64_t count = args.Optional(2) != nullptr ? args.Int(2, -1) : -1;
  return Replace(rt, ToStr(rt, self), ToStr(rt, args.At(0)), ToStr(rt, args.At(1)), count);
}

Value Format(Runtime& rt, const Value& self, const Arguments& args) {
  const CallArgs& raw = args.raw();
  if (raw.keyword.empty()) return FormatPercent(rt, SoftStr(rt, self), MakeTuple(rt, raw.positional));
  if (!raw.positional.empty()) Raise("can't handle positional and keyword arguments at the same time");
  const auto fields = NewDict(rt);
  for (const auto& [name, value] : raw.keyword) fields->Set(MakeStr(rt, name, false), value);
  return FormatPercent(rt, SoftStr(rt, self), Value::DictPtr(fields));
}

Value Indent(Runtime& rt, const Value& self, const Arguments& args) {
  RaiseIfUndefined(self);
  const Str* str = self.AsStr();
  if (str == nullptr) Raise("indent() needs a str, not {}", self.TypeName());
  TextBuilder width(rt);
  if (args[0] != nullptr && args[0]->IsStr()) {
    width.Append(args[0]->AsStr()->text());
  } else {
    width.Repeat(" ", args.Int(0, 4), false);
  }
  const TracedText& indention = width.text();
  const bool blank = args.Bool(rt, 2, false);
  TextBuilder out(rt);
  if (args.Bool(rt, 1, false)) out.Append(indention);
  auto lines = SplitLines(str->view(), false);
  // Jinja2 appends a newline before it splits, so a trailing newline gives an empty last line.
  const std::string_view text = str->view();
  if (text.empty() || IsLineBreak(DecodeAt(text, PreviousChar(text, text.size())).value)) {
    lines.emplace_back(text.size(), text.size());
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto [begin, end] = lines[i];
    if (i > 0) out.Made("\n");
    if (i > 0 && (blank || begin < end)) out.Append(indention);
    out.AppendSlice(str->text(), begin, end);
  }
  return MakeStr(rt, out, str->markup);
}

Value Truncate(Runtime& rt, const Value& self, const Arguments& args) {
  const int64_t length = args.Int(0, 255);
  const Value end = args[2] != nullptr ? *args[2] : MakeStr(rt, "...", false);
  const Str* end_text = end.AsStr();
  if (end_text == nullptr) Raise("truncate() argument 'end' must be str, not {}", end.TypeName());
  const int64_t leeway = args.Optional(3) != nullptr ? args.Int(3, 5) : 5;
  const int64_t kept = length - static_cast<int64_t>(end_text->chars());
  if (kept < 0) Raise("expected length >= {}, got {}", end_text->chars(), length);
  if (leeway < 0) Raise("expected leeway >= 0, got {}", leeway);
  const auto size = Length(rt, self);
  if (!size) Raise("object of type '{}' has no len()", self.TypeName());
  if (static_cast<int64_t>(*size) <= length || static_cast<int64_t>(*size) - length <= leeway) return self;
  const Str* str = self.AsStr();
  if (str == nullptr) Raise("truncate() needs a str, not {}", self.TypeName());
  size_t cut = ByteOfChar(str->view(), str->chars(), static_cast<size_t>(kept));
  if (!args.Bool(rt, 1, false)) {
    const size_t space = str->view().substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  return Binary(rt, BinaryOp::kAdd, MakeSlice(rt, *str, 0, cut), end);
}

Value WordCount(Runtime& rt, const Value& self, const Arguments&) {
  const Str str = SoftStr(rt, self);
  rt.meter().Step(str.view().size() / 8);
  int64_t count = 0;
  bool in_word = false;
  ForEachChar(str.text(), [&](size_t, CodePoint c, bool) {
    const bool is_word = c.value == '_' || IsAlphanumeric(c.value);
    count += is_word && !in_word ? 1 : 0;
    in_word = is_word;
  });
  return Value::Int(count);
}

void AppendQuoted(Runtime& rt, TextBuilder& out, const Value& value, bool for_query) {
  const Str str = ToStr(rt, value);
  rt.meter().Step(str.chars() / 4);
  ForEachChar(str.text(), [&](size_t byte, CodePoint c, bool trusted) {
    const bool is_safe = c.value < 0x80 && (IsAlphanumeric(c.value) || c.value == '_' || c.value == '.' ||
                                            c.value == '-' || c.value == '~' || (c.value == '/' && !for_query));
    if (is_safe) return out.AppendSlice(str.text(), byte, byte + 1);
    if (c.value == ' ' && for_query) return out.Append("+", trusted);
    for (size_t i = 0; i < c.size; ++i) {
      out.Append(fmt::format("%{:02X}", static_cast<unsigned char>(str.view()[byte + i])), trusted);
    }
  });
}

Value UrlEncode(Runtime& rt, const Value& self, const Arguments&) {
  TextBuilder out(rt);
  if (self.IsStr() || !IsIterable(rt, self)) {
    AppendQuoted(rt, out, self, false);
    return MakeStr(rt, out);
  }
  std::vector<Value> pairs;
  if (const DictData* dict = self.AsDict()) {
    for (const auto& [key, value] : dict->entries) pairs.push_back(MakeTuple(rt, {key, value}));
  } else {
    pairs = Collect(rt, self);
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<Value> pair = Collect(rt, pairs[i]);
    if (pair.size() != 2) Raise("urlencode() needs pairs of a key and a value");
    if (i > 0) out.Made("&");
    AppendQuoted(rt, out, pair[0], true);
    out.Made("=");
    AppendQuoted(rt, out, pair[1], true);
  }
  return MakeStr(rt, out);
}

Value XmlAttr(Runtime& rt, const Value& self, const Arguments& args) {
  const DictData* dict = self.AsDict();
  if (dict == nullptr) Raise("xmlattr() needs a mapping, not {}", self.TypeName());
  TextBuilder out(rt);
  bool space = args.Bool(rt, 0, true);
  for (const auto& [key, value] : dict->entries) {
    if (value.IsNone() || value.IsUndefined()) continue;
    const Str* name = key.AsStr();
    if (name == nullptr) Raise("an attribute's name must be str, not {}", key.TypeName());
    if (name->view().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) {
      Raise("invalid character in attribute name '{}'", Shorten(name->view()));
    }
    if (space) out.Made(" ");
    space = true;
    out.Append(Escape(rt, key).text());
    out.Made("=\"");
    out.Append(Escape(rt, value).text());
    out.Made("\"");
  }
  return MakeStr(rt, out);
}

constexpr Builtin kStringFilters[] = {
    {"upper", {}, 0, &MapFilter<CaseMap::kUpper, CaseMap::kUpper>},
    {"lower", {}, 0, &MapFilter<CaseMap::kLower, CaseMap::kLower>},
    {"capitalize", {}, 0, &MapFilter<CaseMap::kTitle, CaseMap::kLower>},
    {"title", {}, 0, &TitleFilter},
    {"string", {}, 0, &String},
    {"safe", {}, 0, &Safe},
    {"escape", {}, 0, &EscapeFilter},
    {"e", {}, 0, &EscapeFilter},
    {"forceescape", {}, 0, &ForceEscape},
    {"trim", {"chars"}, 0, &Trim},
    {"center", {"width"}, 0, &Center},
    {"replace", {"old", "new", "count"}, 2, &ReplaceFilter},
    {"format", {}, kVariadic, &Format},
    {"indent", {"width", "first", "blank"}, 0, &Indent},
    {"truncate", {"length", "killwords", "end", "leeway"}, 0, &Truncate},
    {"wordcount", {}, 0, &WordCount},
    {"urlencode", {}, 0, &UrlEncode},
    {"xmlattr", {"autospace"}, 0, &XmlAttr},
};

}  // namespace

std::span<const Builtin> StringFilters() { return kStringFilters; }

}  // namespace inferflux::text::jinja
