// The vocabulary of a Hugging Face directory as GGUF metadata, for serving it and for converting it alike.
#pragma once

#include <string>

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_config.h"

namespace inferflux::model {

// Whether there is a file that WriteDirectoryVocab makes a vocabulary of.
bool HasVocab(const std::string& directory);

// Reads tokenizer.json, or a SentencePiece model where that is missing (tokenizer.model, spiece.model,
// added_tokens.json); and tokenizer_config.json, chat_template.jinja and generation_config.json where they are.
// kNotFound without the first. `pre`: the pre-tokenizer's name; empty: found by the tokenizer's rule.
Status WriteDirectoryVocab(const std::string& directory, const formats::HfConfig& config, std::string pre,
                           formats::GgufMetadataBuilder& metadata);

}  // namespace inferflux::model
