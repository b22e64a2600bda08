// The parser's view of the tokens.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/syntax/token.h"
#include "text/jinja/value/error.h"

namespace inferflux::text::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Current() const { return tokens_[at_]; }
  const Token& Ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  int Line() const { return Current().line; }

  bool Is(TokenType type) const { return Current().type == type; }
  bool IsName(std::string_view name) const { return Current().IsName(name); }
  bool IsOperator(std::string_view op) const { return Current().IsOperator(op); }
  bool IsAnyName(std::initializer_list<std::string_view> names) const {
    for (const auto name : names) {
      if (IsName(name)) return true;
    }
    return false;
  }

  // Returns the current token and advances; never past the end.
  const Token& Take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool SkipName(std::string_view name) { return IsName(name) && (Take(), true); }
  bool SkipOperator(std::string_view op) { return IsOperator(op) && (Take(), true); }

  const Token& Expect(TokenType type, std::string_view what) {
    if (!Is(type)) RaiseAt(Line(), "expected {}, got {}", what, Describe(Current()));
    return Take();
  }
  void ExpectOperator(std::string_view op) {
    if (!SkipOperator(op)) RaiseAt(Line(), "expected '{}', got {}", op, Describe(Current()));
  }
  void ExpectName(std::string_view name) {
    if (!SkipName(name)) RaiseAt(Line(), "expected '{}', got {}", name, Describe(Current()));
  }

  static std::string Describe(const Token& token) {
    switch (token.type) {
      case TokenType::kData:
        return "text";
      case TokenType::kVariableBegin:
        return "'{{'";
      case TokenType::kVariableEnd:
        return "'}}'";
      case TokenType::kBlockBegin:
        return "'{%'";
      case TokenType::kBlockEnd:
        return "'%}'";
      case TokenType::kEnd:
        return "the end of the template";
      default:
        return "'" + token.text + "'";
    }
  }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace inferflux::text::jinja
