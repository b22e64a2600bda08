// A grammar over a model's tokens: which may follow at a place of a text. What follows from the innermost rules alone
// is computed once and kept; only what goes on behind their end depends on the place (the idea of XGrammar, Dong et
// al., arXiv:2411.15100).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/token_mask.h"
#include "text/grammar/compiled_grammar.h"
#include "text/grammar/pushdown.h"
#include "text/grammar/token_trie.h"
#include "text/grammar/token_walk.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

// What grammars need to know of a model's tokens. Immutable.
struct GrammarVocabulary {
  explicit GrammarVocabulary(std::shared_ptr<const Tokenizer> of) : tokenizer(std::move(of)), trie(*tokenizer) {}

  std::shared_ptr<const Tokenizer> tokenizer;
  TokenTrie trie;
};

// Any thread; a run belongs to one at a time.
class TokenGrammar {
 public:
  TokenGrammar(std::shared_ptr<const CompiledGrammar> grammar, std::shared_ptr<const GrammarVocabulary> vocabulary)
      : grammar_(std::move(grammar)), vocabulary_(std::move(vocabulary)) {}

  // The tokens whose bytes can follow where `run` is at `config`, and the end-of-generation tokens where the text may
  // end. With `drops_space` a token's first space is no part of the text. An error where the grammar is too ambiguous,
  // or the vocabulary has no token for what must follow.
  Result<TokenMask> Mask(Pushdown& run, ConfigId config, bool drops_space) const;

  const std::shared_ptr<const CompiledGrammar>& grammar() const { return grammar_; }
  const Tokenizer& tokenizer() const { return *vocabulary_->tokenizer; }

 private:
  // The tokens that fit into some innermost rules, from one place in them.
  struct Part {
    std::vector<TokenId> few;         // these,
    std::unique_ptr<TokenMask> many;  // or where they are many, these
    std::vector<uint32_t> exits;      // nodes of the tree where the rules may end, and longer tokens go on behind them
    bool too_many_exits = false;      // not worth keeping: the rules below belong to it too
    size_t bytes() const;
  };
  struct KeyHash {
    size_t operator()(const std::vector<uint32_t>& key) const;
  };

  Status AddPart(Pushdown& run, StackId top, TokenWalk& walk, TokenMask& mask) const;
  Result<std::shared_ptr<const Part>> PartOf(const std::vector<uint32_t>& key, TokenWalk& walk) const;
  Result<std::shared_ptr<const Part>> Compute(const std::vector<uint32_t>& key, TokenWalk& walk) const;
  uint32_t SameCount(const Pushdown::Frame& frame) const;
  Status AddAll(Pushdown& run, uint32_t root, ConfigId config, TokenWalk& walk, TokenMask& mask) const;
  Status DropSpace(Pushdown& run, ConfigId config, TokenWalk& walk, TokenMask& mask) const;

  std::shared_ptr<const CompiledGrammar> grammar_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  mutable std::mutex mutex_;  // what follows
  mutable std::unordered_map<std::vector<uint32_t>, std::shared_ptr<const Part>, KeyHash> parts_;
  mutable size_t bytes_ = 0;
};

}  // namespace inferflux::text
