// config.json as GGUF metadata.
#pragma once

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_config.h"
#include "model/huggingface/hf_family.h"

namespace inferflux::model {

// Sets general.architecture and the model's own keys, as in its family's GGUF files; no keys of the tokenizer. A
// setting that GGUF cannot express and that changes the result is an error.
Status WriteHfMetadata(const formats::HfConfig& config, const HfFamily& family, formats::GgufMetadataBuilder& metadata);

}  // namespace inferflux::model
