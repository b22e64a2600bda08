// Fills a tokeniser's specification from a GGUF file's metadata (the tokenizer.ggml.* keys).
#pragma once

#include "base/result.h"
#include "formats/gguf/gguf_metadata.h"
#include "text/tokenizer/vocab.h"

namespace inferflux::model {

struct VocabSpecs {
  text::VocabSpec vocab;
  text::MergeSpec merges;
};

// Where the file is silent, what its tokeniser model is known to do holds (a SentencePiece vocabulary starts texts with
// bos and a space). Tokens that end a generation or open and close a turn are control tokens whatever the file calls
// them, so that no user's text can become one.
Result<VocabSpecs> VocabFromGguf(const formats::GgufMetadata& metadata);

}  // namespace inferflux::model
