// The vocabulary of a Hugging Face directory as GGUF metadata, for serving and for conversion.
#pragma once

#include <string>

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_config.h"

namespace inferflux::model {

// Whether the directory has a file that WriteDirectoryVocab can read.
bool HasVocab(const std::string& directory);

// Reads tokenizer.json or, if it is missing, a SentencePiece model (tokenizer.model, spiece.model, added_tokens.json);
// and tokenizer_config.json, chat_template.jinja and generation_config.json if they exist. kNotFound if there is
// neither of the former. `pre`: the pre-tokenizer's name; empty: found from the tokenizer's rule.
Status WriteDirectoryVocab(const std::string& directory, const formats::HfConfig& config, std::string pre,
                           formats::GgufMetadataBuilder& metadata);

}  // namespace inferflux::model
