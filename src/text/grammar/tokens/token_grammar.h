// A grammar over a model's tokens: which tokens may follow at a position. The part that depends on the innermost rules
// only is computed once and cached; only tokens that continue after the end of these rules depend on the position (the
// idea of XGrammar, Dong et al., arXiv:2411.15100).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/token_mask.h"
#include "text/grammar/automaton/compiled_grammar.h"
#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/tokens/grammar_vocabulary.h"
#include "text/grammar/tokens/mask_part.h"
#include "text/grammar/tokens/plain_run.h"
#include "text/grammar/tokens/token_walk.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

// Any thread; a run belongs to one thread at a time.
class TokenGrammar {
 public:
  TokenGrammar(std::shared_ptr<const CompiledGrammar> grammar, std::shared_ptr<const GrammarVocabulary> vocabulary)
      : grammar_(std::move(grammar)), vocabulary_(std::move(vocabulary)), plain_runs_(*grammar_) {
    for (const auto& rule : grammar_->plain_rules()) numbers_.push_back(vocabulary_->NumberOf(rule.automaton));
  }

  // The tokens whose bytes can follow where `run` is at `config`, and the end-of-generation tokens if the text may end.
  // With `drops_space` the first space of a token is not part of the text. An error if the grammar is too ambiguous, or
  // if no token of the vocabulary spells what must follow.
  Result<TokenMask> Mask(Pushdown& run, ConfigId config, bool drops_space) const;

  // Precomputes what most masks consist of: positions where nearly any character may follow, as inside a string.
  void Prepare() const;

  const std::shared_ptr<const CompiledGrammar>& grammar() const { return grammar_; }
  const Tokenizer& tokenizer() const { return vocabulary_->tokenizer(); }
  const Spelling& spelling() const { return vocabulary_->spelling(); }

 private:
  using Part = MaskPart;
  using Key = MaskPartCache::Key;
  using NodeTaker = FunctionRef<bool(const TokenTrie& trie, uint32_t node, ConfigId config)>;

  Status AddPart(Pushdown& run, StackId top, TokenWalk& walk, TokenMask& mask) const;
  Result<std::shared_ptr<const Part>> PartOf(const Key& key, TokenWalk& walk) const;
  std::optional<Key> SharedKey(const Key& key) const;
  Result<std::shared_ptr<const Part>> Compute(const Key& key, TokenWalk& walk) const;
  bool WalkPlain(Pushdown& run, ConfigId config, const PlainRun& plain, const NodeTaker& take) const;
  uint32_t SameCount(const Pushdown::Frame& frame) const;
  Status AddAll(Pushdown& run, uint32_t root, ConfigId config, TokenWalk& walk, TokenMask& mask) const;
  Status DropSpace(Pushdown& run, ConfigId config, TokenWalk& walk, TokenMask& mask) const;

  std::shared_ptr<const CompiledGrammar> grammar_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  PlainRuns plain_runs_;
  std::vector<std::optional<uint32_t>> numbers_;  // of the grammar's simple rules, in the vocabulary
  mutable MaskPartCache parts_;
};

}  // namespace inferflux::text
