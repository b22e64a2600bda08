#include <charconv>

#include "text/jinja/syntax/lexer.h"
#include "text/jinja/value/error.h"
#include "text/jinja/value/python_characters.h"

namespace inferflux::text::jinja {
namespace {

// Python first escapes non-ASCII characters ("backslashreplace"), so a backslash before such a character escapes the
// backslash of its escape. Decoding must see the same text.
std::string EscapeNonAscii(std::string_view literal) {
  std::string out;
  for (size_t at = 0; at < literal.size();) {
    const CodePoint c = DecodeAt(literal, at);
    const auto code = static_cast<uint32_t>(c.value);
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x100) {
      out += fmt::format("\\x{:02x}", code);
    } else if (code < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += fmt::format("\\U{:08x}", code);
    }
    at += c.size;
  }
  return out;
}

uint32_t ParseHex(std::string_view text, size_t at, size_t digits, int line) {
  uint32_t value = 0;
  const std::string_view hex = text.substr(at, digits);
  const auto parsed = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  if (hex.size() != digits || parsed.ptr != hex.data() + digits)
    RaiseAt(line, "a truncated escape in a string literal");
  return value;
}

// The character of \a, \n and the like; 0 for others.
char SimpleEscape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return '\0';
  }
}

}  // namespace

std::string Unescape(std::string_view literal, int line) {
  const std::string text = EscapeNonAscii(literal);
  std::string out;
  const auto append = [&](uint32_t code) {
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      RaiseAt(line, "the escape of U+{:04X} in a string literal is not a character", code);
    }
    AppendUtf8(out, code);
  };
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    if (at + 1 == text.size()) RaiseAt(line, "a string literal ends with a backslash");
    const char c = text[at + 1];
    at += 2;
    if (c == '\n') continue;  // a continued line
    if (const char simple = SimpleEscape(c); simple != '\0') {
      out += simple;
    } else if (c >= '0' && c <= '7') {
      uint32_t code = 0;
      for (size_t end = at + 2, i = at - 1; i < end && i < text.size() && text[i] >= '0' && text[i] <= '7'; ++i) {
        code = code * 8 + static_cast<uint32_t>(text[i] - '0');
        at = i + 1;
      }
      append(code);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      append(ParseHex(text, at, digits, line));
      at += digits;
    } else if (c == 'N') {
      RaiseAt(line, "character names (\\N) in string literals are not supported");
    } else {
      out += '\\';
      out += c;
    }
  }
  return out;
}

}  // namespace inferflux::text::jinja
