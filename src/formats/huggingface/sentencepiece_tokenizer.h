// A SentencePiece ".model" file with the tokens that a directory adds to it, as the tokenizer.json that it lacks would
// be.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/huggingface/hf_tokenizer.h"
#include "formats/huggingface/hf_tokenizer_config.h"

namespace inferflux::formats {

// `added`: added_tokens.json, {text: id}; may be empty text. More come from tokenizer_config.json's
// added_tokens_decoder. kDataLoss where an added token has the id of a piece with another text: both are named.
Result<HfTokenizer> MakeSentencePieceTokenizer(std::string_view model_bytes, const std::string& source,
                                               const HfTokenizerConfig& config, std::string_view added);

// From the directory's tokenizer.model or spiece.model; kNotFound where it has neither.
Result<HfTokenizer> ReadSentencePieceTokenizer(const std::string& directory, const HfTokenizerConfig& config);

}  // namespace inferflux::formats
