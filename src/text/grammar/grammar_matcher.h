// Where a generation stands in its grammar. Small, and copied to look ahead: draft tokens are followed on a copy.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/token_id.h"
#include "base/token_mask.h"
#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/tokens/token_grammar.h"

namespace inferflux::text {

// Copies share what they have computed: all of them on one thread.
class GrammarMatcher {
 public:
  // With `starts_text` the text is one of its own, whose first space the tokeniser put there (DetokenizerOptions).
  GrammarMatcher(std::shared_ptr<const TokenGrammar> grammar, bool starts_text);

  // The tokens that may follow. An error ends the generation: the grammar is too ambiguous, or what must follow cannot
  // be spelt.
  Result<std::shared_ptr<const TokenMask>> Mask();

  // Takes a token. An error, and nothing is taken, where it does not fit, as end tokens never do, or where there are
  // too many ways to read the text with it.
  Status Accept(TokenId token);

  bool can_end() const;
  // Nothing more can follow: the text is whole.
  bool must_end() const;

 private:
  struct Run;

  std::shared_ptr<const TokenGrammar> grammar_;
  std::shared_ptr<Run> run_;
  ConfigId at_;
  bool drops_space_;
};

}  // namespace inferflux::text
