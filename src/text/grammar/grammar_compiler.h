// Compiles the constraints of requests to grammars over one model's tokens. Keeps recent ones, because requests often
// repeat them.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "text/grammar/grammar_spec.h"
#include "text/grammar/tokens/token_grammar.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

// Any thread.
class GrammarCompiler {
 public:
  explicit GrammarCompiler(std::shared_ptr<const Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // kResourceExhausted or kCancelled once the thread's WorkBudget is spent; then nothing is kept.
  Result<std::shared_ptr<const TokenGrammar>> Compile(const GrammarSpec& spec);

 private:
  struct Entry {
    GrammarSpec spec;
    std::shared_ptr<const TokenGrammar> grammar;
  };

  std::shared_ptr<const GrammarVocabulary> Vocabulary();
  std::shared_ptr<const TokenGrammar> Find(const GrammarSpec& spec);

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::mutex mutex_;                                     // guards everything below
  std::shared_ptr<const GrammarVocabulary> vocabulary_;  // created on first use
  std::list<Entry> recent_;                              // most recently used first
};

}  // namespace inferflux::text
