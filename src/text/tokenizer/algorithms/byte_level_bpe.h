// Byte-level byte-pair encoding: text is split into words, words into bytes, and bytes are merged (Radford et al.
// 2019).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/algorithms/merge_table.h"
#include "text/tokenizer/pre_tokenizer/pre_tokenizer.h"
#include "text/tokenizer/string_pool.h"
#include "text/tokenizer/subword_model.h"
#include "text/tokenizer/token_map.h"
#include "text/tokenizer/vocabulary.h"

namespace inferflux::text {

class ByteLevelBpe : public SubwordModel {
 public:
  // `vocabulary` must outlive the model.
  static Result<std::unique_ptr<SubwordModel>> Create(const Vocabulary& vocabulary, const MergeSpec& merges);

  void Encode(std::string_view run, bool first, std::vector<TokenId>& out) const override;

 private:
  ByteLevelBpe(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer, size_t merges);
  Status AddMerges(const MergeSpec& merges);
  TokenId Intern(std::string_view bytes);
  void EncodeWord(std::string_view word, BpeMerger& merger, std::vector<TokenId>& out) const;
  void AppendBytes(std::string_view bytes, std::vector<TokenId>& out) const;

  const Vocabulary& vocabulary_;
  PreTokenizer pre_tokenizer_;
  MergeTable merges_;
  // The raw bytes of each piece. The vocabulary's tokens come first, then pieces that only merges name: intermediate
  // results, whose bytes become byte tokens if a word ends on one.
  StringPool pieces_;
  TokenMap by_bytes_;
  TokenId of_byte_[256];
};

}  // namespace inferflux::text
