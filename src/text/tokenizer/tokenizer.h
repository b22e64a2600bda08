// Converts text to tokens and back, for every kind of vocabulary.
//
// A user's text can never become a control token: control tokens are matched only in trusted spans, and no algorithm
// below this interface can produce one from text.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "text/text_span.h"
#include "text/tokenizer/subword_model.h"
#include "text/tokenizer/vocab.h"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/whole_token_matcher.h"

namespace inferflux::text {

// Immutable and thread-safe.
class Tokenizer {
 public:
  // Fails for a vocabulary that contradicts itself, an unknown algorithm or pre-tokenizer, or merges that are not
  // pairs.
  static Result<std::shared_ptr<const Tokenizer>> Create(VocabSpec vocab, MergeSpec merges);

  // The tokens of `text`: adds no control tokens and matches none; user-defined ones are matched whole. Any bytes are
  // valid; byte-level ones and those with byte fallback keep what is not UTF-8. Cut short by a spent WorkBudget.
  std::vector<TokenId> Encode(std::string_view text) const;

  // The same for a rendered template: trusted text may match control tokens, and the text between two of them is
  // tokenised as one run, even across spans. Adds nothing.
  std::vector<TokenId> Encode(std::span<const TextSpan> spans) const;

  // The special tokens that the model's file specifies around a raw text: bos or cls before it, unless already there,
  // eos or sep after it.
  std::vector<TokenId> WithSpecials(std::vector<TokenId> tokens) const;

  // The raw bytes of a token: byte-level letters decoded, U+2581 as a space, <0x0A> as its byte. May be a part of a
  // character; see Detokenizer. Empty for a control token, unless `control_too`, and for an id out of range. Valid as
  // long as the tokenizer.
  std::string_view Bytes(TokenId id, bool control_too = false) const;

  // The bytes of all `tokens` without control tokens and without the space that the tokenizer itself prepends.
  std::string Decode(std::span<const TokenId> tokens) const;

  // The longest text in bytes that becomes at most `tokens` tokens, rounded up. None where one token may hold any
  // length: WordPiece and unigram vocabularies drop and merge text, and some tokens take the white space beside them.
  std::optional<uint64_t> MostBytes(int64_t tokens) const;

  // The first token of any kind with this text in the file.
  std::optional<TokenId> Find(std::string_view text) const;
  // A token as written in the file; empty for an id out of range.
  std::string_view Text(TokenId id) const;

  int32_t size() const { return vocabulary_->size(); }
  // Whether a token is structure rather than text: control, unknown or unused.
  bool IsControl(TokenId id) const;
  bool IsEndOfGeneration(TokenId id) const;
  // Ascending, without duplicates.
  const std::vector<TokenId>& end_of_generation() const { return end_of_generation_; }

  std::optional<TokenId> bos() const { return vocabulary_->spec().bos; }
  std::optional<TokenId> eos() const { return vocabulary_->spec().eos; }
  std::optional<TokenId> pad() const { return vocabulary_->spec().pad; }
  bool add_bos() const { return vocabulary_->spec().add_bos; }
  bool add_eos() const { return vocabulary_->spec().add_eos; }
  // Whether Encode prepends a space to the first run, so that decoding removes it.
  bool adds_space_prefix() const;

 private:
  Tokenizer(std::unique_ptr<const Vocabulary> vocabulary, std::unique_ptr<const SubwordModel> model);
  std::vector<TokenId> Encode(std::string_view text, std::span<const TextRange> trusted) const;
  void EncodeRun(std::string_view run, bool first, std::vector<TokenId>& out) const;

  std::unique_ptr<const Vocabulary> vocabulary_;
  std::unique_ptr<const SubwordModel> model_;
  WholeTokenMatcher whole_tokens_;
  std::vector<TokenId> end_of_generation_;
  uint64_t longest_token_ = 0;                    // bytes of text
  std::vector<bool> strips_left_, strips_right_;  // by id; empty for ids without one
};

}  // namespace inferflux::text
