// What grammars read a model's tokens as.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

class Spelling {
 public:
  explicit Spelling(const Tokenizer& tokenizer);

  // The token's bytes, or its name as ControlSpelling has it. Nothing for end-of-generation tokens, which are no text,
  // and for those with a byte that no text has.
  std::string_view Of(TokenId token) const;

 private:
  const Tokenizer& tokenizer_;
  std::unordered_map<TokenId, std::string> control_;
};

}  // namespace inferflux::text
