// SentencePiece's unigram model: the likeliest segmentation of the text into pieces (Kudo 2018; Viterbi).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/algorithms/sentencepiece_text.h"
#include "text/tokenizer/algorithms/word_cutter.h"
#include "text/tokenizer/byte_trie.h"
#include "text/tokenizer/subword_model.h"
#include "text/tokenizer/vocabulary.h"

namespace inferflux::text {

class Unigram : public SubwordModel {
 public:
  // `vocabulary` must outlive the model.
  static Result<std::unique_ptr<SubwordModel>> Create(const Vocabulary& vocabulary);

  void Encode(std::string_view run, bool first, std::vector<TokenId>& out) const override;

 private:
  // The best segmentation up to a position: its last piece, and where that piece begins.
  struct Step {
    double score;
    uint32_t begin;
    TokenId id;  // kNoToken: a character that no piece spells
  };

  Unigram(const Vocabulary& vocabulary, SentencePieceText normalizer);
  void EncodeWord(std::string_view word, std::vector<Step>& best, std::vector<TokenId>& out) const;

  const Vocabulary& vocabulary_;
  SentencePieceText normalizer_;
  WordCutter cutter_;
  ByteTrie pieces_;
  std::vector<double> scores_;  // by token
  double unknown_score_;
};

}  // namespace inferflux::text
