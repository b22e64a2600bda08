// BERT's WordPiece: text is normalised and split into words, and each word is matched greedily by the longest pieces,
// or becomes one unknown token (Devlin et al. 2018; Schuster and Nakajima 2012).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/byte_trie.h"
#include "text/tokenizer/subword_model.h"
#include "text/tokenizer/vocabulary.h"

namespace inferflux::text {

class WordPiece : public SubwordModel {
 public:
  // `vocabulary` must outlive the model.
  static Result<std::unique_ptr<SubwordModel>> Create(const Vocabulary& vocabulary);

  void Encode(std::string_view run, bool first, std::vector<TokenId>& out) const override;

 private:
  explicit WordPiece(const Vocabulary& vocabulary);
  std::string Normalize(std::string_view text) const;
  void EncodeWord(std::string_view word, size_t characters, std::vector<TokenId>& out) const;

  const Vocabulary& vocabulary_;
  ByteTrie starts_;  // pieces that begin a word, without their mark
  ByteTrie rests_;   // pieces that continue a word
};

}  // namespace inferflux::text
