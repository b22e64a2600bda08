// SentencePiece's text preparation: maps characters, trims white space if the model says so, may prepend a space, and
// replaces every space by U+2581 (Kudo and Richardson 2018).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer/algorithms/charsmap.h"
#include "text/tokenizer/vocab.h"

namespace inferflux::text {

class SentencePieceText {
 public:
  static Result<SentencePieceText> Create(const VocabSpec& spec);

  // `first`: nothing precedes the run. Bytes that are not UTF-8 stay.
  std::string Normalize(std::string_view run, bool first) const;

 private:
  SentencePieceText(Charsmap charsmap, SpacePrefix prefix, bool remove_extra)
      : charsmap_(std::move(charsmap)), prefix_(prefix), remove_extra_whitespaces_(remove_extra) {}

  Charsmap charsmap_;
  SpacePrefix prefix_;
  bool remove_extra_whitespaces_;
};

}  // namespace inferflux::text
