#include <algorithm>
#include <cmath>

#include "text/jinja/evaluate/arithmetic.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/number_format.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/format/str_format.h"
#include "text/jinja/value/python_characters.h"

namespace inferflux::text::jinja {
namespace {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct FormatSpec {
  std::string fill = " ";
  bool fill_trusted = false;
  char align = '\0';
  bool has_sign = false;
  NumberFormat number;
  int64_t width = 0;
  char type = '\0';
};

class SpecParser {
 public:
  explicit SpecParser(const TracedText& spec) : spec_(spec), text_(spec.view()) {}

  FormatSpec Run() {
    FormatSpec out;
    ParseAlignment(out);
    if (Peek() == '+' || Peek() == '-' || Peek() == ' ') {
      out.number.sign = text_[at_++];
      out.has_sign = true;
    }
    if (Skip('#')) out.number.alternate = true;
    if (Skip('0') && out.align == '\0') {
      out.fill = "0";
      out.align = '=';
    }
    out.width = std::max<int64_t>(ParseCount(), 0);
    if (Peek() == ',' || Peek() == '_') out.number.grouping = text_[at_++];
    if (Skip('.')) {
      const int64_t precision = ParseCount();
      if (precision < 0) Raise("format specifier is missing its precision");
      out.number.precision = static_cast<int>(precision);
    }
    if (at_ < text_.size()) out.type = text_[at_++];
    if (at_ < text_.size()) Raise("invalid format specifier '{}'", Shorten(text_));
    return out;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Skip(char c) { return Peek() == c && c != '\0' && (++at_, true); }
  static bool IsAlign(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

  void ParseAlignment(FormatSpec& out) {
    if (text_.empty()) return;
    const size_t fill_size = DecodeAt(text_, 0).size;
    if (fill_size < text_.size() && IsAlign(text_[fill_size])) {
      out.fill = text_.substr(0, fill_size);
      out.fill_trusted = spec_.TrustedAt(0);
      out.align = text_[fill_size];
      at_ = fill_size + 1;
    } else if (IsAlign(text_[0])) {
      out.align = text_[0];
      at_ = 1;
    }
  }

  int64_t ParseCount() {
    if (Peek() < '0' || Peek() > '9') return -1;
    int64_t count = 0;
    for (; Peek() >= '0' && Peek() <= '9'; ++at_) {
      count = count * 10 + (Peek() - '0');
      if (count > INT32_MAX) Raise("a width or precision is too big");
    }
    return count;
  }

  const TracedText& spec_;
  std::string_view text_;
  size_t at_ = 0;
};

[[noreturn]] void RaiseUnknownType(const FormatSpec& spec, const Value& value) {
  Raise("unknown format code '{}' for an object of type '{}'", spec.type, value.TypeName());
}

void AppendText(Runtime&, TextBuilder& out, const Str& str, const FormatSpec& spec) {
  size_t chars = str.chars();
  if (spec.number.precision >= 0) chars = std::min(chars, static_cast<size_t>(spec.number.precision));
  const int64_t padding = spec.width - static_cast<int64_t>(chars);
  int64_t before = 0;
  if (spec.align == '>') before = padding;
  if (spec.align == '^') before = padding / 2;
  out.Repeat(spec.fill, before, spec.fill_trusted);
  out.AppendSlice(str.text(), 0, ByteOfChar(str.view(), str.chars(), chars));
  out.Repeat(spec.fill, padding - before, spec.fill_trusted);
}

void AppendNumber(TextBuilder& out, const NumberText& text, bool trusted, const FormatSpec& spec) {
  const int64_t padding = spec.width - static_cast<int64_t>(text.prefix.size() + text.digits.size());
  int64_t before = padding;
  if (spec.align == '<') before = 0;
  if (spec.align == '^') before = padding / 2;
  const bool inside = spec.align == '=';
  if (!inside) out.Repeat(spec.fill, before, spec.fill_trusted);
  out.Append(text.prefix, trusted);
  if (inside) out.Repeat(spec.fill, padding, spec.fill_trusted);
  out.Append(text.digits, trusted);
  if (!inside) out.Repeat(spec.fill, padding - before, spec.fill_trusted);
}

// Zeros before grouped digits are grouped with them.
void WidenGrouped(NumberText& text, const FormatSpec& spec) {
  if (spec.number.grouping == '\0' || spec.align != '=' || spec.fill != "0") return;
  if (spec.width > kMaxPrecision) Raise("a width of more than {} with grouped digits is not supported", kMaxPrecision);
  const size_t group = spec.type == 'x' || spec.type == 'X' || spec.type == 'b' || spec.type == 'o' ? 4 : 3;
  size_t run = std::min(text.digits.find(spec.number.grouping), text.digits.find('.'));
  run = std::min(run, text.digits.size());
  while (static_cast<int64_t>(text.prefix.size() + text.digits.size()) < spec.width) {
    if (run == group) {
      text.digits.insert(0, 1, spec.number.grouping);
      run = 0;
    }
    text.digits.insert(0, 1, '0');
    ++run;
  }
}

NumberText FloatText(double value, const FormatSpec& spec) {
  NumberFormat format = spec.number;
  if (spec.type != '\0') {
    format.type = spec.type;
    return FormatFloat(value, format);
  }
  if (format.precision < 0) {  // like repr()
    NumberText text = FormatFloat(value, format);
    const std::string repr = FloatRepr(value);
    text.digits = repr.substr(repr[0] == '-' ? 1 : 0);
    if (format.alternate && std::isfinite(value)) text.digits = WithPoint(std::move(text.digits));
    if (format.grouping != '\0') {
      for (size_t end = std::min(text.digits.find_first_of(".e"), text.digits.size()); end > 3; end -= 3) {
        text.digits.insert(end - 3, 1, format.grouping);
      }
    }
    return text;
  }
  format.type = '\0';
  NumberText text = FormatFloat(value, format);
  if (text.digits.find_first_of(".en") == std::string::npos) text.digits += ".0";
  return text;
}

}  // namespace

void AppendFormatted(Runtime& rt, TextBuilder& out, const Value& value, const TracedText& spec_text) {
  if (spec_text.empty()) return AppendStr(rt, out, value);
  const FormatSpec spec = SpecParser(spec_text).Run();
  if (spec.number.precision > kMaxPrecision && !value.IsStr()) {
    Raise("a precision of more than {} is not supported", kMaxPrecision);
  }
  if (const Str* str = value.AsStr()) {
    if (spec.type != '\0' && spec.type != 's') RaiseUnknownType(spec, value);
    if (spec.align == '=' || spec.has_sign || spec.number.alternate || spec.number.grouping != '\0') {
      if (spec.align != '=' || spec.fill != "0") Raise("'{}' is not allowed for strings", Shorten(spec_text.view()));
    }
    return AppendText(rt, out, *str, spec);
  }
  const auto number = AsNumber(value);
  if (!number) Raise("unsupported format string passed to {}.__format__", value.TypeName());
  const bool as_float =
      number->is_float || (spec.type != '\0' && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos);
  NumberText text;
  if (as_float) {
    if (spec.type != '\0' && std::string_view("eEfFgG%").find(spec.type) == std::string_view::npos) {
      RaiseUnknownType(spec, value);
    }
    text = FloatText(number->f, spec);
  } else if (spec.type == '\0' || std::string_view("dboxX").find(spec.type) != std::string_view::npos) {
    if (spec.number.precision >= 0) Raise("precision not allowed in integer format specifier");
    NumberFormat format = spec.number;
    format.type = spec.type == '\0' ? 'd' : spec.type;
    text = FormatInt(number->i, format);
  } else {
    RaiseUnknownType(spec, value);
  }
  rt.meter().CheckRoom(static_cast<uint64_t>(spec.width));
  WidenGrouped(text, spec);
  AppendNumber(out, text, number->trusted, spec);
}

}  // namespace inferflux::text::jinja
