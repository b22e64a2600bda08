#include "text/grammar/char_escapes.h"

#include <charconv>

#include "text/grammar/expression.h"

namespace inferflux::text {
namespace {

Result<char32_t> TakeHex(std::string_view source, size_t& at, size_t digits) {
  uint32_t code = 0;
  const std::string_view text = source.substr(at, digits);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code, 16);
  if (text.size() != digits || error != std::errc() || end != text.data() + text.size()) {
    return Fail(ErrorCode::kInvalidArgument, "an escape needs {} hexadecimal digits", digits);
  }
  at += digits;
  return char32_t{code};
}

bool IsSurrogate(char32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

Result<char32_t> TakeUnicode(std::string_view source, size_t& at, size_t digits) {
  auto code = TakeHex(source, at, digits);
  if (!code) return code;
  if (*code >= 0xD800 && *code <= 0xDBFF && source.substr(at).starts_with("\\u")) {
    at += 2;
    const auto low = TakeHex(source, at, 4);
    if (!low) return low;
    if (*low >= 0xDC00 && *low <= 0xDFFF) return 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
  }
  if (*code > 0x10FFFF || IsSurrogate(*code)) {
    return Fail(ErrorCode::kInvalidArgument, "U+{:X} is not a character", static_cast<uint32_t>(*code));
  }
  return code;
}

// Without a number: the maximum. A larger number is an error.
Result<uint32_t> TakeNumber(std::string_view source, size_t& at, uint32_t missing) {
  const size_t begin = at;
  uint32_t number = 0;
  for (; at < source.size() && source[at] >= '0' && source[at] <= '9'; ++at) {
    number = number * 10 + static_cast<uint32_t>(source[at] - '0');
    if (number > kMaxRepetitions) {
      return Fail(ErrorCode::kInvalidArgument, "a repetition of more than {} times", kMaxRepetitions);
    }
  }
  return at == begin ? missing : number;
}

}  // namespace

Result<char32_t> TakeEscape(std::string_view source, size_t& at, std::string_view plain) {
  if (at == source.size()) return Fail(ErrorCode::kInvalidArgument, "nothing follows a backslash");
  const char c = source[at++];
  switch (c) {
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 't':
      return U'\t';
    case 'f':
      return U'\f';
    case 'v':
      return U'\v';
    case '0':
      return U'\0';
    case '\\':
      return U'\\';
    case 'x':
      return TakeUnicode(source, at, 2);
    case 'u':
      return TakeUnicode(source, at, 4);
    case 'U':
      return TakeUnicode(source, at, 8);
    default:
      break;
  }
  if (plain.find(c) != std::string_view::npos) return static_cast<char32_t>(c);
  if (c < 0x20 || c > 0x7E) return Fail(ErrorCode::kInvalidArgument, "this character cannot be escaped");
  return Fail(ErrorCode::kInvalidArgument, "the escape \\{} is not supported", c);
}

Result<Repetitions> TakeRepetitions(std::string_view source, size_t& at) {
  const auto skip = [&] {
    while (at < source.size() && source[at] == ' ') ++at;
  };
  skip();
  const size_t begin = at;
  const auto min = TakeNumber(source, at, 0);
  if (!min) return Forward(min);
  const bool has_min = at > begin;
  skip();
  Repetitions out{*min, *min};
  bool has_max = false;
  if (at < source.size() && source[at] == ',') {
    ++at;
    skip();
    const size_t behind = at;
    const auto max = TakeNumber(source, at, kUnbounded);
    if (!max) return Forward(max);
    has_max = at > behind;
    out.max = *max;
    skip();
  }
  if (at == source.size() || source[at] != '}' || !(has_min || has_max)) {
    return Fail(ErrorCode::kInvalidArgument, "a repetition is written {{n}}, {{n,}}, {{n,m}} or {{,m}}");
  }
  ++at;
  if (out.max < out.min)
    return Fail(ErrorCode::kInvalidArgument, "a repetition of at least {} and at most {} times", out.min, out.max);
  return out;
}

}  // namespace inferflux::text
