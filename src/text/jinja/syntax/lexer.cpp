#include "text/jinja/syntax/lexer.h"

#include <algorithm>
#include <array>

#include "text/jinja/value/error.h"
#include "text/jinja/value/python_characters.h"

namespace inferflux::text::jinja {
namespace {

constexpr std::array<std::string_view, 26> kOperators = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/",
                                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                         ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

// Normalises line ends, and removes the one at the end of the template.
std::string NormalizeNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> Run() {
    while (at_ < source_.size()) LexData();
    Add(TokenType::kEnd, "");
    return std::move(tokens_);
  }

 private:
  bool LooksAt(std::string_view text, size_t at) const { return source_.substr(at, text.size()) == text; }
  char CharAt(size_t at) const { return at < source_.size() ? source_[at] : '\0'; }
  void Add(TokenType type, std::string text) { tokens_.push_back({type, std::move(text), line_}); }

  // Advances to `to` and counts lines.
  void Advance(size_t to) {
    line_ += static_cast<int>(
        std::count(source_.begin() + static_cast<ptrdiff_t>(at_), source_.begin() + static_cast<ptrdiff_t>(to), '\n'));
    line_starting_ = to > at_ ? source_[to - 1] == '\n' : line_starting_;
    at_ = to;
  }

  size_t SkipSpace(size_t at) const {
    while (at < source_.size()) {
      const CodePoint c = DecodeAt(source_, at);
      if (!IsSpace(c.value)) break;
      at += c.size;
    }
    return at;
  }

  // The end of [begin, end) without its trailing whitespace.
  size_t RightTrim(size_t begin, size_t end) const {
    while (end > begin) {
      const size_t previous = PreviousChar(source_, end);
      if (!IsSpace(DecodeAt(source_, previous).value)) break;
      end = previous;
    }
    return end;
  }

  // The end of the text before a tag, after stripping by `sign` (or lstrip_blocks).
  size_t StrippedEnd(size_t begin, size_t end, char sign, bool is_variable) const {
    if (sign == '-') return RightTrim(begin, end);
    if (sign == '+' || is_variable) return end;
    const size_t newline = source_.substr(begin, end - begin).rfind('\n');
    if (newline == std::string_view::npos && !line_starting_) return end;
    const size_t line = newline == std::string_view::npos ? begin : begin + newline + 1;
    return RightTrim(line, end) == line ? line : end;
  }

  // The end of a closing tag at `at`, of the form [-+]?close, with the white space that it removes; npos if there is
  // none.
  size_t MatchClose(size_t at, std::string_view close, bool may_keep, bool trims) const {
    if (CharAt(at) == '-' && LooksAt(close, at + 1)) return SkipSpace(at + 1 + close.size());
    if (may_keep && CharAt(at) == '+' && LooksAt(close, at + 1)) return at + 1 + close.size();
    if (!LooksAt(close, at)) return std::string_view::npos;
    at += close.size();
    return trims && CharAt(at) == '\n' ? at + 1 : at;
  }

  static char SignOf(char c) { return c == '-' || c == '+' ? c : '\0'; }

  // Where the next {{, {% or {# starts, or npos.
  size_t FindTag() const {
    size_t tag = source_.find('{', at_);
    while (tag != std::string_view::npos && std::string_view("{%#").find(CharAt(tag + 1)) == std::string_view::npos) {
      tag = source_.find('{', tag + 1);
    }
    return tag;
  }

  void LexData() {
    const size_t tag = FindTag();
    if (tag == std::string_view::npos) {
      Add(TokenType::kData, std::string(source_.substr(at_)));
      return Advance(source_.size());
    }
    const char kind = source_[tag + 1];
    const char sign = SignOf(CharAt(tag + 2));
    const size_t end = StrippedEnd(at_, tag, sign, kind == '{');
    if (end > at_) Add(TokenType::kData, std::string(source_.substr(at_, end - at_)));
    Advance(tag);
    const size_t inside = tag + 2 + (sign != '\0' ? 1 : 0);
    if (kind == '#') return LexComment(inside);
    if (kind == '%' && LexRaw(inside)) return;
    Add(kind == '{' ? TokenType::kVariableBegin : TokenType::kBlockBegin, "");
    Advance(inside);
    LexTag(kind == '{');
  }

  void LexComment(size_t inside) {
    if (inside == source_.size()) return Advance(inside);  // Jinja2 accepts a lone "{#" at the end
    for (size_t at = inside; at < source_.size(); ++at) {
      const size_t end = MatchClose(at, "#}", true, true);
      if (end != std::string_view::npos) return Advance(end);
    }
    RaiseAt(line_, "a comment is not closed: '#}}' is missing");
  }

  // {% raw %} ... {% endraw %}; false for any other tag.
  bool LexRaw(size_t inside) {
    const size_t word = SkipSpace(inside);
    if (!LooksAt("raw", word)) return false;
    const size_t body = MatchClose(SkipSpace(word + 3), "%}", false, false);
    if (body == std::string_view::npos) return false;
    const int line = line_;
    Advance(body);
    for (size_t tag = source_.find("{%", body); tag != std::string_view::npos; tag = source_.find("{%", tag + 1)) {
      const char sign = SignOf(CharAt(tag + 2));
      const size_t end_word = SkipSpace(tag + 2 + (sign != '\0' ? 1 : 0));
      if (!LooksAt("endraw", end_word)) continue;
      const size_t end = MatchClose(SkipSpace(end_word + 6), "%}", true, true);
      if (end == std::string_view::npos) continue;
      const size_t text_end = StrippedEnd(body, tag, sign, false);
      if (text_end > body) Add(TokenType::kData, std::string(source_.substr(body, text_end - body)));
      Advance(end);
      return true;
    }
    RaiseAt(line, "a raw block is not closed: '{{% endraw %}}' is missing");
  }

  void LexTag(bool is_variable) {
    while (at_ < source_.size()) {
      if (open_brackets_.empty()) {
        const size_t end = MatchClose(at_, is_variable ? "}}" : "%}", !is_variable, !is_variable);
        if (end != std::string_view::npos) {
          Add(is_variable ? TokenType::kVariableEnd : TokenType::kBlockEnd, "");
          return Advance(end);
        }
      }
      LexToken();
    }
  }

  void LexToken() {
    const CodePoint c = DecodeAt(source_, at_);
    if (IsSpace(c.value)) return Advance(SkipSpace(at_));
    if (IsAsciiDigit(c.value)) return LexNumber();
    if (IsIdentifierPart(c.value)) return LexName();
    if ((c.value == '"' || c.value == '\'') && LexString()) return;
    LexOperator();
  }

  static bool IsAsciiDigit(char32_t c) { return c >= '0' && c <= '9'; }

  void LexName() {
    size_t end = at_;
    while (end < source_.size()) {
      const CodePoint c = DecodeAt(source_, end);
      if (!IsIdentifierPart(c.value)) break;
      end += c.size;
    }
    if (!IsIdentifierStart(DecodeAt(source_, at_).value)) RaiseAt(line_, "invalid character in an identifier");
    Add(TokenType::kName, std::string(source_.substr(at_, end - at_)));
    Advance(end);
  }

  // Digits of `base` with single underscores between them; npos if there are none at `at`.
  size_t MatchDigits(size_t at, int base, bool may_start_with_underscore) const {
    const auto is_digit = [&](char c) {
      if (c >= '0' && c <= '9') return c - '0' < base;
      const int letter = (c | 0x20) - 'a';
      return letter >= 0 && letter < base - 10;
    };
    size_t end = std::string_view::npos;
    if (may_start_with_underscore && CharAt(at) == '_') ++at;
    while (is_digit(CharAt(at))) {
      end = ++at;
      if (CharAt(at) == '_') ++at;
    }
    return end;
  }

  // The end of a float literal; npos if the number is an int.
  size_t MatchFloat() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return std::string_view::npos;
    size_t end = MatchDigits(at_, 10, false);
    bool is_float = false;
    if (CharAt(end) == '.') {
      const size_t fraction = MatchDigits(end + 1, 10, false);
      if (fraction != std::string_view::npos) {
        end = fraction;
        is_float = true;
      }
    }
    if ((CharAt(end) | 0x20) == 'e') {
      const size_t digits = end + 1 + (SignOf(CharAt(end + 1)) != '\0' ? 1 : 0);
      const size_t exponent = MatchDigits(digits, 10, false);
      if (exponent != std::string_view::npos) return exponent;
    }
    return is_float ? end : std::string_view::npos;
  }

  size_t MatchInteger() const {
    if (source_[at_] != '0') return MatchDigits(at_, 10, false);
    const char prefix = static_cast<char>(CharAt(at_ + 1) | 0x20);
    const int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
    const size_t end = base != 0 ? MatchDigits(at_ + 2, base, true) : std::string_view::npos;
    return end != std::string_view::npos ? end : MatchDigits(at_, 1, false);
  }

  void LexNumber() {
    const size_t float_end = MatchFloat();
    const bool is_float = float_end != std::string_view::npos;
    const size_t end = is_float ? float_end : MatchInteger();
    std::string digits(source_.substr(at_, end - at_));
    std::erase(digits, '_');
    Add(is_float ? TokenType::kFloat : TokenType::kInteger, std::move(digits));
    Advance(end);
  }

  bool LexString() {
    const char quote = source_[at_];
    for (size_t at = at_ + 1; at < source_.size(); ++at) {
      if (source_[at] == '\\') {
        ++at;
      } else if (source_[at] == quote) {
        Add(TokenType::kString, Unescape(source_.substr(at_ + 1, at - at_ - 1), line_));
        Advance(at + 1);
        return true;
      }
    }
    return false;
  }

  void LexOperator() {
    const auto* const op =
        std::find_if(kOperators.begin(), kOperators.end(), [&](std::string_view text) { return LooksAt(text, at_); });
    if (op == kOperators.end()) {
      const CodePoint c = DecodeAt(source_, at_);
      RaiseAt(line_, "unexpected character '{}'", source_.substr(at_, c.size));
    }
    if (*op == "(" || *op == "[" || *op == "{") {
      open_brackets_ += *op == "(" ? ')' : *op == "[" ? ']' : '}';
    } else if (*op == ")" || *op == "]" || *op == "}") {
      if (open_brackets_.empty()) RaiseAt(line_, "unexpected '{}'", *op);
      if (open_brackets_.back() != op->front()) {
        RaiseAt(line_, "unexpected '{}', expected '{}'", *op, open_brackets_.back());
      }
      open_brackets_.pop_back();
    }
    Add(TokenType::kOperator, std::string(*op));
    Advance(at_ + op->size());
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::string open_brackets_;  // the expected closing brackets
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Tokenize(std::string_view source) {
  if (const size_t byte = FindInvalidUtf8(source); byte != std::string_view::npos) {
    RaiseAt(0, "the template is not valid UTF-8 at byte {}", byte);
  }
  return Lexer(NormalizeNewlines(source)).Run();
}

}  // namespace inferflux::text::jinja
