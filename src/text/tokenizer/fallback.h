// The tokens for text that no piece spells.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace inferflux::text {

// Appends a byte token for each byte if the vocabulary has them all, otherwise one unknown token. Without an unknown
// token the text is lost, as with every such vocabulary.
inline void AppendUnspellable(const Vocabulary& vocabulary, std::string_view bytes, std::vector<TokenId>& out) {
  if (vocabulary.has_byte_fallback()) {
    for (const char c : bytes) out.push_back(vocabulary.ByteToken(static_cast<uint8_t>(c)));
  } else if (vocabulary.spec().unk) {
    out.push_back(*vocabulary.spec().unk);
  }
}

// SentencePiece writes adjacent unknown characters as one unknown token. Applies that from `begin` on.
inline void MergeUnknowns(const Vocabulary& vocabulary, size_t begin, std::vector<TokenId>& out) {
  const auto unknown = vocabulary.spec().unk;
  if (!unknown || vocabulary.has_byte_fallback()) return;
  const auto last = std::unique(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
                                [&](TokenId a, TokenId b) { return a == *unknown && b == *unknown; });
  out.erase(last, out.end());
}

}  // namespace inferflux::text
