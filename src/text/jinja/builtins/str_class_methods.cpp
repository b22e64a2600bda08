#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/value/traced_chars.h"

namespace inferflux::text::jinja {
namespace {

// True if the str is not empty (or `empty_counts`) and all characters belong to the class.
template <bool (*is_member)(char32_t), bool empty_counts = false>
Value AllOf(Runtime& rt, const Value& self, const Arguments&) {
  const std::string_view text = self.AsStr()->view();
  rt.meter().Step(text.size() / 8);
  bool all = empty_counts || !text.empty();
  for (size_t byte = 0; all && byte < text.size();) {
    const CodePoint c = DecodeAt(text, byte);
    all = is_member(c.value);
    byte += c.size;
  }
  return Value::Bool(all);
}

bool IsAscii(char32_t c) { return c < 0x80; }

// islower(), isupper(): at least one cased character, and all of them have that case.
template <bool (*is_member)(char32_t)>
Value AllCased(Runtime& rt, const Value& self, const Arguments&) {
  const std::string_view text = self.AsStr()->view();
  rt.meter().Step(text.size() / 8);
  bool some = false;
  for (size_t byte = 0; byte < text.size();) {
    const CodePoint c = DecodeAt(text, byte);
    if (is_member(c.value)) {
      some = true;
    } else if (IsCased(c.value)) {
      return Value::Bool(false);
    }
    byte += c.size;
  }
  return Value::Bool(some);
}

Value IsTitleText(Runtime& rt, const Value& self, const Arguments&) {
  const std::string_view text = self.AsStr()->view();
  rt.meter().Step(text.size() / 8);
  bool some = false;
  bool in_word = false;
  for (size_t byte = 0; byte < text.size();) {
    const CodePoint c = DecodeAt(text, byte);
    const bool capital = IsUpper(c.value) || IsTitle(c.value);
    if (capital && in_word) return Value::Bool(false);
    if (!capital && IsLower(c.value) && !in_word) return Value::Bool(false);
    in_word = IsCased(c.value);
    some |= in_word;
    byte += c.size;
  }
  return Value::Bool(some);
}

Value IsIdentifier(Runtime& rt, const Value& self, const Arguments& args) {
  const std::string_view text = self.AsStr()->view();
  if (text.empty() || !IsIdentifierStart(DecodeAt(text, 0).value)) return Value::Bool(false);
  return AllOf<&IsIdentifierPart>(rt, self, args);
}

constexpr Builtin kStrClassMethods[] = {
    {"isalpha", {}, 0, &AllOf<&IsAlpha>},       {"isalnum", {}, 0, &AllOf<&IsAlphanumeric>},
    {"isdecimal", {}, 0, &AllOf<&IsDecimal>},   {"isdigit", {}, 0, &AllOf<&IsDigit>},
    {"isnumeric", {}, 0, &AllOf<&IsNumeric>},   {"isspace", {}, 0, &AllOf<&IsSpace>},
    {"isascii", {}, 0, &AllOf<&IsAscii, true>}, {"isprintable", {}, 0, &AllOf<&IsPrintable, true>},
    {"islower", {}, 0, &AllCased<&IsLower>},    {"isupper", {}, 0, &AllCased<&IsUpper>},
    {"istitle", {}, 0, &IsTitleText},           {"isidentifier", {}, 0, &IsIdentifier},
};

}  // namespace

std::span<const Builtin> StrClassMethods() { return kStrClassMethods; }

}  // namespace inferflux::text::jinja
