#include "text/tool_calls/read/python_string.h"

#include <algorithm>

#include "text/grammar/char_escapes.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

constexpr size_t kOctalDigits = 3;

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

}  // namespace

std::optional<std::string> PythonString(std::string_view content) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
  std::string out;
  for (size_t at = 0; at < content.size();) {
    const char c = content[at++];
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at == content.size()) return std::nullopt;
    const char kind = content[at];
    if (const size_t letter = kLetters.find(kind); letter != std::string_view::npos) {
      out += kMeanings[letter];
      ++at;
    } else if (kind == '\n') {  // a continued line
      ++at;
    } else if (IsOctal(kind)) {
      char32_t code = 0;
      for (size_t end = std::min(at + kOctalDigits, content.size()); at < end && IsOctal(content[at]); ++at) {
        code = code * 8 + static_cast<char32_t>(content[at] - '0');
      }
      unicode::AppendUtf8(code, out);
    } else if (kind == 'x' || kind == 'u' || kind == 'U') {
      const auto code = TakeEscape(content, at, {});
      if (!code) return std::nullopt;
      unicode::AppendUtf8(*code, out);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace inferflux::text
