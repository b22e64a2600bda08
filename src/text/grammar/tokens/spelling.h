// The bytes as which grammars read a model's tokens.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

class Spelling {
 public:
  explicit Spelling(const Tokenizer& tokenizer);

  // The token's bytes, or its name in the form of ControlSpelling. Nothing for end-of-generation tokens, which are not
  // text, and for tokens with a byte that no text contains.
  std::string_view Of(TokenId token) const;

 private:
  const Tokenizer& tokenizer_;
  std::unordered_map<TokenId, std::string> control_;
};

}  // namespace inferflux::text
