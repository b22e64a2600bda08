// Builds a tokenizer's specification from a GGUF file's metadata (the tokenizer.ggml.* keys).
#pragma once

#include "base/result.h"
#include "formats/gguf/gguf_metadata.h"
#include "text/tokenizer/vocab.h"

namespace inferflux::model {

struct VocabSpecs {
  text::VocabSpec vocab;
  text::MergeSpec merges;
};

// If the file lacks a key, the known behaviour of its tokenizer model applies (a SentencePiece vocabulary starts texts
// with bos and a space). Tokens that end a generation, or open and close a turn, are control tokens whatever kind the
// file gives them, so that no user's text can become one.
Result<VocabSpecs> VocabFromGguf(const formats::GgufMetadata& metadata);

}  // namespace inferflux::model
