#include "text/jinja/format/printing.h"

#include <charconv>
#include <cmath>

#include "text/jinja/value/python_characters.h"
#include "text/jinja/value/traced_chars.h"

namespace inferflux::text::jinja {
namespace {

void AppendStrRepr(TextBuilder& out, const Str& str) {
  const bool has_single = str.view().find('\'') != std::string_view::npos;
  const bool has_double = str.view().find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  const std::string_view quote_text(&quote, 1);
  if (str.markup) out.Made("Markup(");
  out.Made(quote_text);
  ForEachChar(str.text(), [&](size_t byte, CodePoint c, bool trusted) {
    const auto code = static_cast<uint32_t>(c.value);
    if (c.value == static_cast<char32_t>(quote) || c.value == '\\') {
      out.Append(fmt::format("\\{}", static_cast<char>(c.value)), trusted);
    } else if (c.value == '\n') {
      out.Append("\\n", trusted);
    } else if (c.value == '\r') {
      out.Append("\\r", trusted);
    } else if (c.value == '\t') {
      out.Append("\\t", trusted);
    } else if (IsPrintable(c.value)) {
      out.AppendSlice(str.text(), byte, byte + c.size);
    } else if (code < 0x100) {
      out.Append(fmt::format("\\x{:02x}", code), trusted);
    } else if (code < 0x10000) {
      out.Append(fmt::format("\\u{:04x}", code), trusted);
    } else {
      out.Append(fmt::format("\\U{:08x}", code), trusted);
    }
  });
  out.Made(quote_text);
  if (str.markup) out.Made(")");
}

void AppendSequence(Runtime& rt, TextBuilder& out, const ListData& list) {
  const bool is_list = list.type == SequenceType::kList;
  out.Made(is_list ? "[" : "(");
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out.Made(", ");
    AppendRepr(rt, out, list.items[i]);
  }
  if (!is_list && list.items.size() == 1) out.Made(",");
  out.Made(is_list ? "]" : ")");
}

void AppendDict(Runtime& rt, TextBuilder& out, const DictData& dict) {
  out.Made("{");
  for (size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0) out.Made(", ");
    AppendRepr(rt, out, dict.entries[i].first);
    out.Made(": ");
    AppendRepr(rt, out, dict.entries[i].second);
  }
  out.Made("}");
}

}  // namespace

void AppendStr(Runtime& rt, TextBuilder& out, const Value& value) {
  if (const Str* str = value.AsStr()) {
    out.Append(str->text());
  } else if (!value.IsUndefined()) {
    AppendRepr(rt, out, value);
  }
}

void AppendRepr(Runtime& rt, TextBuilder& out, const Value& value) {
  const Meter::Level level(rt.meter());
  rt.meter().Step();
  if (const Str* str = value.AsStr()) return AppendStrRepr(out, *str);
  if (const auto* b = value.AsBool()) return out.Append(b->value ? "True" : "False", b->trusted);
  if (const auto* i = value.AsInt()) return out.Append(fmt::format("{}", i->value), i->trusted);
  if (const auto* f = value.AsFloat()) return out.Append(FloatRepr(f->value), f->trusted);
  if (const ListData* list = value.AsSequence()) return AppendSequence(rt, out, *list);
  if (const DictData* dict = value.AsDict()) return AppendDict(rt, out, *dict);
  if (const Object* object = value.AsObject()) return object->Repr(rt, out);
  out.Made(value.IsNone() ? "None" : "Undefined");
}

Str SoftStr(Runtime& rt, const Value& value) {
  if (const Str* str = value.AsStr()) return *str;
  TextBuilder out(rt);
  AppendStr(rt, out, value);
  return *MakeStr(rt, out).AsStr();
}

Str ToStr(Runtime& rt, const Value& value) {
  Str str = SoftStr(rt, value);
  str.markup = false;
  return str;
}

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto scientific = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(scientific.ptr - buffer));
  const size_t exponent_at = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + exponent_at + (text[exponent_at + 1] == '+' ? 2 : 1);
  std::from_chars(digits, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);
  const auto fixed = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  std::string out(buffer, fixed.ptr);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

}  // namespace inferflux::text::jinja
