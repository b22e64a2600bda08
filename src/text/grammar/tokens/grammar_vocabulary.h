// A model's tokens for grammars, and a cache that grammars share: rules that call no others, such as a JSON string, are
// the same in many grammars.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "text/grammar/tokens/mask_part.h"
#include "text/grammar/tokens/plain_tokens.h"
#include "text/grammar/tokens/spelling.h"
#include "text/grammar/tokens/token_trie.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

// Any thread.
class GrammarVocabulary {
 public:
  explicit GrammarVocabulary(std::shared_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)),
        spelling_(*tokenizer_),
        trie_(*tokenizer_, spelling_),
        plain_(*tokenizer_, spelling_, trie_) {}

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const Spelling& spelling() const { return spelling_; }
  const TokenTrie& trie() const { return trie_; }
  const PlainTokens& plain() const { return plain_; }

  // A number for an automaton, the same for equal ones; none if there are too many already.
  std::optional<uint32_t> NumberOf(const std::string& automaton) const {
    constexpr size_t kMost = 4096;
    const std::lock_guard lock(mutex_);
    if (const auto found = numbers_.find(automaton); found != numbers_.end()) return found->second;
    if (numbers_.size() == kMost) return std::nullopt;
    return numbers_.emplace(automaton, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  // By such a number, a state within the automaton, and whether the text ends with the rule.
  MaskPartCache& parts() const { return parts_; }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  Spelling spelling_;
  TokenTrie trie_;
  PlainTokens plain_;
  mutable std::mutex mutex_;  // guards numbers_
  mutable std::map<std::string, uint32_t> numbers_;
  mutable MaskPartCache parts_;
};

}  // namespace inferflux::text
