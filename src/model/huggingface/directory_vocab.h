// The vocabulary of a Hugging Face directory as GGUF metadata, for serving it and for converting it alike.
#pragma once

#include <string>

#include "base/result.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/huggingface/hf_config.h"

namespace inferflux::model {

// Reads tokenizer.json, tokenizer_config.json, chat_template.jinja and generation_config.json; of these only the first
// must be there (kNotFound). `pre`: the pre-tokenizer's name; empty: found by the tokenizer's rule.
Status WriteDirectoryVocab(const std::string& directory, const formats::HfConfig& config, std::string pre,
                           formats::GgufWriter& writer);

}  // namespace inferflux::model
