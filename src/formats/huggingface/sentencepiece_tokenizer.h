// Builds the tokenizer.json that a directory lacks from its SentencePiece ".model" file and its added tokens.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/huggingface/hf_tokenizer.h"
#include "formats/huggingface/hf_tokenizer_config.h"

namespace inferflux::formats {

// `added`: the text of added_tokens.json, {text: id}, or empty. tokenizer_config.json's added_tokens_decoder adds more.
// kDataLoss names both if an added token has the id of a piece with another text.
Result<HfTokenizer> MakeSentencePieceTokenizer(std::string_view model_bytes, const std::string& source,
                                               const HfTokenizerConfig& config, std::string_view added);

// From the directory's tokenizer.model or spiece.model; kNotFound if it has neither.
Result<HfTokenizer> ReadSentencePieceTokenizer(const std::string& directory, const HfTokenizerConfig& config);

}  // namespace inferflux::formats
