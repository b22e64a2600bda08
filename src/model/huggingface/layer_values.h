// Tensors of a checkpoint with one value for each layer, which are metadata in GGUF (Checkpoint::layer_values).
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_config.h"
#include "formats/safetensors/safetensors_model.h"
#include "model/huggingface/hf_family.h"

namespace inferflux::model {

// Whether a tensor, by its name without the model's prefix and with a star for each number, is one of them.
bool IsLayerValue(const Checkpoint& checkpoint, std::string_view pattern);

// Sets an array of float32 for each of them. kNotFound names a tensor that is missing, kDataLoss one with several
// values or without a plain type.
Status WriteLayerValues(const formats::HfConfig& config, const HfFamily& family, const formats::SafetensorsModel& model,
                        formats::GgufMetadataBuilder& metadata);

}  // namespace inferflux::model
