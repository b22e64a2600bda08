// A validated vocabulary: the text, the kind and the bytes of each token.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/string_pool.h"
#include "text/tokenizer/token_map.h"
#include "text/tokenizer/vocab.h"

namespace inferflux::text {

enum class Algorithm : uint8_t {
  kByteLevelBpe,  // "gpt2"
  kScoreBpe,      // "llama"
  kMergeBpe,      // "gemma4"
  kUnigram,       // "t5"
  kWordPiece,     // "bert"
  kGreedy,        // "rwkv"
};

class Vocabulary {
 public:
  // Fails if the spec contradicts itself: arrays of other lengths, ids out of range, scores that are NaN, an unknown
  // algorithm.
  static Result<std::unique_ptr<const Vocabulary>> Create(VocabSpec spec);

  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  Algorithm algorithm() const { return algorithm_; }
  // The spec, without its tokens and kinds, which this class provides.
  const VocabSpec& spec() const { return spec_; }

  int32_t size() const { return static_cast<int32_t>(kinds_.size()); }
  bool Contains(TokenId id) const { return id >= 0 && id < size(); }
  TokenKind kind(TokenId id) const { return kinds_[id]; }
  float score(TokenId id) const { return spec_.scores.empty() ? 0.0F : spec_.scores[id]; }

  // Every token as written in the file, by id.
  const StringPool& texts() const { return texts_; }
  // The same for one token.
  std::string_view Text(TokenId id) const { return texts_[id]; }
  // The raw bytes of the token, whatever its kind.
  std::string_view Bytes(TokenId id) const { return bytes_[id]; }

  // Whether it is structure rather than text: control, unknown or unused.
  bool IsControl(TokenId id) const;
  // Whether ordinary text may become it.
  bool IsText(TokenId id) const { return kinds_[id] == TokenKind::kNormal || kinds_[id] == TokenKind::kUserDefined; }

  // The first token of any kind with this text; kNoToken if there is none.
  TokenId Find(std::string_view text) const { return by_text_.Find(text); }

  // The token of one raw byte ("<0x0A>"); kNoToken if the vocabulary has none.
  TokenId ByteToken(uint8_t byte) const { return byte_tokens_[byte]; }
  bool has_byte_fallback() const { return has_byte_fallback_; }

 private:
  Vocabulary(Algorithm algorithm, VocabSpec spec);
  void FillBytes(TokenId id);

  Algorithm algorithm_;
  VocabSpec spec_;
  std::vector<TokenKind> kinds_;
  StringPool texts_;
  StringPool bytes_;
  TokenMap by_text_;
  TokenId byte_tokens_[256];
  bool has_byte_fallback_ = true;
};

}  // namespace inferflux::text
