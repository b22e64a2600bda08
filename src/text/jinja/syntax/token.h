// The tokens from the lexer to the parser.
#pragma once

#include <string>
#include <string_view>

namespace inferflux::text::jinja {

enum class TokenType {
  kData,           // text outside of tags
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type;
  std::string text;  // of a string: the unescaped value
  int line;          // 1-based

  bool Is(TokenType t, std::string_view value) const { return type == t && text == value; }
  bool IsName(std::string_view name) const { return Is(TokenType::kName, name); }
  bool IsOperator(std::string_view op) const { return Is(TokenType::kOperator, op); }
};

}  // namespace inferflux::text::jinja
