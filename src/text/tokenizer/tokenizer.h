// Text to tokens and back, for every kind of vocabulary.
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

// Immutable: may be used from many threads at once.
class Tokenizer {
 public:
  // Fails on a vocabulary that contradicts itself, an algorithm or a pre-tokeniser that is not known, or merges that
  // are not pairs.
  static Result<std::shared_ptr<const Tokenizer>> Create(VocabSpec vocab, MergeSpec merges);

  // The tokens of `text` and nothing else: none added, no control token matched. User-defined ones are matched whole.
  // Any bytes will do; byte-level vocabularies and those with byte fallback keep bytes that are not UTF-8.
  std::vector<TokenId> Encode(std::string_view text) const;

  // The same for a rendered template: trusted text may name control tokens, and what stands between them is tokenised
  // as one run, whatever spans it came from. Nothing is added.
  std::vector<TokenId> Encode(std::span<const TextSpan> spans) const;

  // What the model's file wants around a raw text: bos or cls in front, unless there already, eos or sep behind.
  std::vector<TokenId> WithSpecials(std::vector<TokenId> tokens) const;

  // The raw bytes that a token stands for: byte-level letters decoded, U+2581 as a space, <0x0A> as its byte. A piece
  // of a character is possible; see Detokenizer. Empty for a control token, unless `control_too`, and for an id out of
  // range. Lives as long as the tokeniser.
  std::string_view Bytes(TokenId id, bool control_too = false) const;

  // The bytes of all `tokens`, control tokens left out, less the space that the tokeniser itself puts in front.
  std::string Decode(std::span<const TokenId> tokens) const;

  // The first token whose text in the file is `text`, of any kind.
  std::optional<TokenId> Find(std::string_view text) const;
  // A token as the file writes it; empty for an id out of range.
  std::string_view Text(TokenId id) const;

  int32_t size() const { return vocabulary_->size(); }
  // Whether a token is structure rather than text: control, unknown or unused.
  bool IsControl(TokenId id) const;
  bool IsEndOfGeneration(TokenId id) const;
  // Ascending, without doubles.
  const std::vector<TokenId>& end_of_generation() const { return end_of_generation_; }

  std::optional<TokenId> bos() const { return vocabulary_->spec().bos; }
  std::optional<TokenId> eos() const { return vocabulary_->spec().eos; }
  std::optional<TokenId> pad() const { return vocabulary_->spec().pad; }
  bool add_bos() const { return vocabulary_->spec().add_bos; }
  bool add_eos() const { return vocabulary_->spec().add_eos; }
  // Whether Encode puts a space in front of the first run, so that decoding takes it away again.
  bool adds_space_prefix() const;

 private:
  Tokenizer(std::unique_ptr<const Vocabulary> vocabulary, std::unique_ptr<const SubwordModel> model);
  std::vector<TokenId> Encode(std::string_view text, std::span<const TextRange> trusted) const;
  void EncodeRun(std::string_view run, bool first, std::vector<TokenId>& out) const;

  std::unique_ptr<const Vocabulary> vocabulary_;
  std::unique_ptr<const SubwordModel> model_;
  WholeTokenMatcher whole_tokens_;
  std::vector<TokenId> end_of_generation_;
  std::vector<bool> strips_left_, strips_right_;  // by id; empty where none does
};

}  // namespace inferflux::text
