#include "text/grammar/json_schema/quoted_text.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "unicode/utf8.h"

namespace inferflux::text {

const CodeRanges& PlainWithin(char quote) {
  static const CodeRanges kDouble = {{' ', '!'}, {'#', '['}, {']', 0xD7FF}, {0xE000, 0x10FFFF}};
  static const CodeRanges kSingle = {{' ', '&'}, {'(', '['}, {']', 0xD7FF}, {0xE000, 0x10FFFF}};
  return quote == '"' ? kDouble : kSingle;
}

std::string EscapedWithin(char quote, std::string_view text) {
  constexpr std::string_view kControls = "\b\f\n\r\t", kLetters = "bfnrt";
  std::string out;
  for (const char c : text) {
    const size_t control = kControls.find(c);
    if (control != std::string_view::npos) {
      out += {'\\', kLetters[control]};
    } else if (c == quote || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < ' ') {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += c;
    }
  }
  return out;
}

Expr EscapedWithin(char quote, const Expr& content) {
  using Kind = Expression::Kind;
  if (content->kind == Kind::kText) return Literal(EscapedWithin(quote, content->text));
  if (content->kind == Kind::kClass) {
    const CodeRanges& plain = PlainWithin(quote);
    std::vector<Expr> ways = {OneOf(Intersect(content->ranges, plain))};
    for (const CodeRange& range : Intersect(content->ranges, Complement(plain))) {
      for (char32_t code = range.first; code <= range.last; ++code) {
        std::string text;
        unicode::AppendUtf8(code, text);
        ways.push_back(Literal(EscapedWithin(quote, text)));
      }
    }
    return Choice(std::move(ways));
  }
  Expression out = *content;
  for (Expr& part : out.parts) part = EscapedWithin(quote, part);
  return std::make_shared<Expression>(std::move(out));
}

}  // namespace inferflux::text
