// The position of a generation in its grammar. Small; a copy is advanced to look ahead over draft tokens.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/token_id.h"
#include "base/token_mask.h"
#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/tokens/token_grammar.h"

namespace inferflux::text {

// Copies share what they have computed, so all of them must stay on one thread.
class GrammarMatcher {
 public:
  // With `starts_text`, the tokens begin a text, whose first space comes from the tokenizer (DetokenizerOptions).
  GrammarMatcher(std::shared_ptr<const TokenGrammar> grammar, bool starts_text);

  // The tokens that may follow. An error ends the generation: the grammar is too ambiguous, or no token spells what
  // must follow.
  Result<std::shared_ptr<const TokenMask>> Mask();

  // Advances by a token. On an error nothing changes: the token does not fit (end tokens never do), or the text has too
  // many parses.
  Status Accept(TokenId token);

  bool can_end() const;
  // Nothing more can follow: the text is complete.
  bool must_end() const;

 private:
  struct Run;

  std::shared_ptr<const TokenGrammar> grammar_;
  std::shared_ptr<Run> run_;
  ConfigId at_;
  bool drops_space_;
};

}  // namespace inferflux::text
