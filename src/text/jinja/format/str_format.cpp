#include "text/jinja/format/str_format.h"

#include <charconv>

#include "text/jinja/evaluate/access.h"
#include "text/jinja/format/html.h"
#include "text/jinja/format/printing.h"

namespace inferflux::text::jinja {
namespace {

class BraceFormatter {
 public:
  BraceFormatter(Runtime& rt, const Str& format, const std::vector<Value>& args, const Value& fields)
      : rt_(rt), format_(format), args_(args), fields_(fields) {}

  Value Run() {
    TextBuilder out(rt_);
    Format(out, format_.text(), 2);
    return MakeStr(rt_, out, format_.markup);
  }

 private:
  // `levels`: how deep replacement fields may nest, including themselves.
  void Format(TextBuilder& out, const TracedText& format, int levels) {
    if (levels == 0) Raise("max string recursion exceeded");
    const std::string_view text = format.view();
    size_t at = 0;
    while (at < text.size()) {
      const size_t brace = text.find_first_of("{}", at);
      if (brace == std::string_view::npos) break;
      if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {  // {{ or }}
        out.AppendSlice(format, at, brace + 1);
        at = brace + 2;
        continue;
      }
      out.AppendSlice(format, at, brace);
      if (text[brace] == '}') Raise("single '}}' encountered in format string");
      at = FormatField(out, format, brace + 1, levels);
    }
    out.AppendSlice(format, at, text.size());
  }

  // Parses the field whose brace ends at `begin`; returns the byte after its closing brace.
  size_t FormatField(TextBuilder& out, const TracedText& format, size_t begin, int levels) {
    const std::string_view text = format.view();
    size_t end = begin;
    for (int open = 1;; ++end) {
      if (end >= text.size()) Raise("expected '}}' before end of string");
      if (text[end] == '{') ++open;
      if (text[end] == '}' && --open == 0) break;
    }
    const std::string_view field = text.substr(begin, end - begin);
    size_t name_end = 0;
    for (bool in_brackets = false; name_end < field.size(); ++name_end) {
      if (field[name_end] == '[') in_brackets = true;
      if (field[name_end] == ']') in_brackets = false;
      if (!in_brackets && (field[name_end] == '!' || field[name_end] == ':')) break;
    }
    Value value = Lookup(field.substr(0, name_end), format, begin);
    size_t spec_at = name_end;
    if (spec_at < field.size() && field[spec_at] == '!') {
      if (spec_at + 1 >= field.size()) Raise("end of string while looking for conversion specifier");
      value = Convert(value, field[spec_at + 1]);
      spec_at += 2;
      if (spec_at < field.size() && field[spec_at] != ':') Raise("expected ':' after conversion specifier");
    }
    TextBuilder spec(rt_);
    if (spec_at < field.size()) Format(spec, format.Slice(begin + spec_at + 1, end), levels - 1);
    if (!format_.markup) {
      AppendFormatted(rt_, out, value, spec.text());
      return end + 1;
    }
    if (value.IsStr() && value.AsStr()->markup) {
      if (spec.size() > 0) Raise("unsupported format specification for Markup");
      out.Append(value.AsStr()->text());
      return end + 1;
    }
    TextBuilder formatted(rt_);
    AppendFormatted(rt_, formatted, value, spec.text());
    AppendEscaped(out, formatted.text());
    return end + 1;
  }

  Value Convert(const Value& value, char conversion) {
    TextBuilder text(rt_);
    if (conversion == 's') {
      AppendStr(rt_, text, value);
    } else if (conversion == 'r') {
      AppendRepr(rt_, text, value);
    } else {
      Raise("unknown conversion specifier '{}'", conversion);
    }
    return MakeStr(rt_, text);
  }

  static bool IsInteger(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  }

  static size_t ToIndex(std::string_view digits) {
    size_t index = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (parsed.ec != std::errc() || index > INT32_MAX) Raise("too many decimal digits in format string");
    return index;
  }

  Value Argument(size_t index) const {
    if (index >= args_.size()) Raise("replacement index {} out of range for positional args tuple", index);
    return args_[index];
  }

  // "name.attr[key]"; `begin` is the field's position in `format`, which gives its keys their origins.
  Value Lookup(std::string_view name, const TracedText& format, size_t begin) {
    size_t at = std::min(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, at);
    Value value;
    if (first.empty()) {
      if (manual_) Raise("cannot switch from manual field specification to automatic field numbering");
      automatic_ = true;
      value = Argument(next_++);
    } else if (IsInteger(first)) {
      if (automatic_) Raise("cannot switch from automatic field numbering to manual field specification");
      manual_ = true;
      value = Argument(ToIndex(first));
    } else {
      value = GetItemStrict(first);
    }
    while (at < name.size()) {
      if (name[at] == '.') {
        const size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        if (end == at + 1) Raise("empty attribute in format string");
        value = GetAttribute(rt_, value, name.substr(at + 1, end - at - 1));
        at = end;
        continue;
      }
      if (name[at] != '[') Raise("only '.' or '[' may follow ']' in format field specifier");
      const size_t close = name.find(']', at);
      if (close == std::string_view::npos) Raise("missing ']' in format string");
      const std::string_view key = name.substr(at + 1, close - at - 1);
      if (key.empty()) Raise("empty attribute in format string");
      value = IsInteger(key) ? GetItem(rt_, value, Value::Int(static_cast<int64_t>(ToIndex(key))))
                             : GetItem(rt_, value, MakeStr(rt_, format.Slice(begin + at + 1, begin + close)));
      at = close + 1;
    }
    return value;
  }

  Value GetItemStrict(std::string_view name) const {
    const DictData* dict = fields_.AsDict();
    const Value* value = dict != nullptr ? dict->Find(name) : nullptr;
    if (value == nullptr) Raise("there is no format argument '{}'", Shorten(name));
    return *value;
  }

  Runtime& rt_;
  const Str& format_;
  const std::vector<Value>& args_;
  const Value& fields_;
  size_t next_ = 0;
  bool automatic_ = false;
  bool manual_ = false;
};

}  // namespace

Value FormatBraces(Runtime& rt, const Str& format, const std::vector<Value>& args, const Value& fields) {
  return BraceFormatter(rt, format, args, fields).Run();
}

}  // namespace inferflux::text::jinja
