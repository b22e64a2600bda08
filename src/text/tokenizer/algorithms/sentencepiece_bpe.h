// SentencePiece's byte-pair encoding: merges characters over whole sentences, including spaces, best piece first. Text
// that the vocabulary cannot spell becomes byte tokens or, without these, the unknown token.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/algorithms/merge_table.h"
#include "text/tokenizer/algorithms/sentencepiece_text.h"
#include "text/tokenizer/algorithms/word_cutter.h"
#include "text/tokenizer/subword_model.h"
#include "text/tokenizer/token_map.h"
#include "text/tokenizer/vocabulary.h"

namespace inferflux::text {

class SentencePieceBpe : public SubwordModel {
 public:
  // Merges by `merges` if there are any, otherwise by scores. `vocabulary` must outlive the model.
  static Result<std::unique_ptr<SubwordModel>> Create(const Vocabulary& vocabulary, const MergeSpec& merges);

  void Encode(std::string_view run, bool first, std::vector<TokenId>& out) const override;

 private:
  SentencePieceBpe(const Vocabulary& vocabulary, SentencePieceText normalizer, size_t merges);
  Status AddMerges(const MergeSpec& merges);
  void EncodeWord(std::string_view word, BpeMerger& merger, std::vector<TokenId>& out) const;
  BpeMerge MergeByScore(std::string_view word, const BpeSymbol& left, const BpeSymbol& right) const;

  const Vocabulary& vocabulary_;
  SentencePieceText normalizer_;
  WordCutter cutter_;
  TokenMap pieces_;  // the tokens that ordinary text may become
  bool by_scores_;
  MergeTable merges_;
};

}  // namespace inferflux::text
