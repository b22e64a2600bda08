// A SentencePiece ".model" file: its pieces, and how it prepares text. Source: sentencepiece_model.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::formats {

struct SentencePieceModel {
  enum class Algorithm { kUnigram, kBpe };
  enum class Kind : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;
    float score = 0.0f;
    Kind kind = Kind::kNormal;
  };

  Algorithm algorithm = Algorithm::kUnigram;
  bool byte_fallback = false;
  std::vector<Piece> pieces;  // by id
  std::string charsmap;       // precompiled_charsmap; empty: text is not normalised
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
};

// kDataLoss if the file is not such a model. kUnsupported names what it needs and this reader lacks: splitting words or
// characters, or marking spaces other than by U+2581 before words.
Result<SentencePieceModel> ParseSentencePieceModel(std::string_view bytes, const std::string& source);

}  // namespace inferflux::formats
