// The position of a generation in its constraints: a grammar constrains the answer and not the reasoning before it, and
// a budget ends the reasoning by forcing the closing marker. Small; a copy is advanced to look ahead over draft tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/token_id.h"
#include "base/token_mask.h"
#include "text/grammar/grammar_matcher.h"
#include "text/reasoning/reasoning_dialect.h"

namespace inferflux::text {

// The reasoning that an answer may begin with.
struct ReasoningLimits {
  std::shared_ptr<const ReasoningDialect> dialect;
  bool inside = false;            // the prompt has opened it
  std::optional<int32_t> budget;  // the most tokens of reasoning; none: no limit
};

// Copies share what they have computed, so all of them must stay on one thread.
class OutputMatcher {
 public:
  // At least one of `grammar` and `limits` must be given. `starts_text`: see GrammarMatcher.
  OutputMatcher(std::shared_ptr<const Tokenizer> tokenizer, std::shared_ptr<const TokenGrammar> grammar,
                const ReasoningLimits* limits, bool starts_text);

  // The tokens that may follow; null: any. Errors as of GrammarMatcher.
  Result<std::shared_ptr<const TokenMask>> Mask();

  // Advances by a token. On an error nothing changes.
  Status Accept(TokenId token);

  // Nothing more can follow: the text is complete.
  bool must_end() const { return at_ == At::kAnswer && grammar_ && grammar_->must_end(); }

 private:
  enum class At : uint8_t { kStart, kOpening, kReasoning, kClosing, kAnswer };

  void Begin();
  Status Start(TokenId token);
  Status Reason(TokenId token);
  std::string Spell(TokenId token) const;
  std::shared_ptr<const TokenMask> Only(TokenId token) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const ReasoningDialect> dialect_;
  std::optional<GrammarMatcher> grammar_;
  std::optional<int32_t> budget_;
  At at_ = At::kAnswer;
  size_t forced_ = 0;                        // tokens of the marker that is being forced
  int32_t reasoned_ = 0;                     // tokens
  std::string seen_;                         // the text that may be part of a marker
  std::shared_ptr<const TokenMask> no_end_;  // with a grammar: all tokens but those that end the generation
};

}  // namespace inferflux::text
