// Small vocabularies of each kind, for tests and fuzzers.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "model/families/tokenizers/tokenizer_traits.h"
#include "text/tokenizer/algorithms/byte_alphabet.h"
#include "text/tokenizer/vocab.h"
#include "unicode/utf8.h"

namespace inferflux::text::testing {

// The rules for a name of tokenizer.ggml.pre.
inline const PreTokenizerRules* PreTokenizerOf(std::string_view name) { return &model::FindPreTokenizer(name)->rules; }

inline TokenId AddToken(VocabSpec& spec, std::string text, TokenKind kind = TokenKind::kNormal, float score = 0) {
  spec.tokens.push_back(std::move(text));
  spec.kinds.push_back(kind);
  spec.scores.push_back(score);
  return static_cast<TokenId>(spec.tokens.size() - 1);
}

inline std::string Letter(uint8_t byte) {
  std::string letter;
  unicode::AppendUtf8(ByteToAlphabet(byte), letter);
  return letter;
}

inline void AddByteTokens(VocabSpec& spec) {
  for (int byte = 0; byte < 256; ++byte) AddToken(spec, fmt::format("<0x{:02X}>", byte), TokenKind::kByte);
}

// Ids 0 to 255 are the bytes, followed by the results of the merges.
inline VocabSpec ByteLevelSpec(const std::vector<std::string>& merges, std::string_view pre = "gpt-2") {
  VocabSpec spec;
  spec.model = "gpt2";
  spec.pre_tokenizer = PreTokenizerOf(pre);
  for (int byte = 0; byte < 256; ++byte) AddToken(spec, Letter(static_cast<uint8_t>(byte)));
  for (const std::string& merge : merges) AddToken(spec, unicode::ReplaceAll(merge, " ", ""));
  return spec;
}

// Pieces by descending score, after <unk>, <s>, </s> (0, 1, 2) and the 256 bytes (3 to 258).
inline VocabSpec SentencePieceSpec(std::string model, const std::vector<std::string>& pieces, bool bytes = true) {
  VocabSpec spec;
  spec.model = std::move(model);
  spec.unk = AddToken(spec, "<unk>", TokenKind::kUnknown);
  spec.bos = AddToken(spec, "<s>", TokenKind::kControl);
  spec.eos = AddToken(spec, "</s>", TokenKind::kControl);
  if (bytes) AddByteTokens(spec);
  float score = -1;
  for (const std::string& piece : pieces) AddToken(spec, piece, TokenKind::kNormal, score--);
  spec.space_prefix = SpacePrefix::kEveryRun;
  return spec;
}

inline VocabSpec WordPieceSpec(const std::vector<std::string>& pieces) {
  VocabSpec spec;
  spec.model = "bert";
  spec.pad = AddToken(spec, "[PAD]", TokenKind::kControl);
  spec.unk = AddToken(spec, "[UNK]", TokenKind::kControl);
  spec.cls = AddToken(spec, "[CLS]", TokenKind::kControl);
  spec.sep = AddToken(spec, "[SEP]", TokenKind::kControl);
  for (const std::string& piece : pieces) AddToken(spec, piece);
  spec.add_bos = spec.add_eos = true;
  return spec;
}

}  // namespace inferflux::text::testing
