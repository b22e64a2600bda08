// config.json as GGUF metadata.
#pragma once

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_config.h"
#include "model/huggingface/hf_family.h"

namespace inferflux::model {

// Sets general.architecture and the model's own keys, as its family's GGUF files have them; nothing of the tokeniser.
// What GGUF cannot say and would be computed otherwise is an error.
Status WriteHfMetadata(const formats::HfConfig& config, const HfFamily& family, formats::GgufMetadataBuilder& metadata);

}  // namespace inferflux::model
