// modules.json: how sentence-transformers processes a model's hidden states.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_config.h"
#include "formats/safetensors/safetensors_model.h"
#include "model/huggingface/tensor_plan.h"

namespace inferflux::model {

// Sets PREFIXpooling_type, and PREFIXpooling_normalize if vectors keep their length; nothing if the directory has no
// modules.json, or holds a classifier. A module or a pooling that is not supported here is an error that names it.
Status WriteSentenceModules(const std::string& directory, const formats::HfConfig& config, const std::string& prefix,
                            formats::GgufMetadataBuilder& metadata);

// The dense layers that a pooled state passes through, each a model in a folder of its own.
Result<std::vector<formats::SafetensorsModel>> OpenDenseModules(const std::string& directory,
                                                                const formats::HfConfig& config);

// Adds their tensors to the plan, as "dense_2" and "dense_3". The modules must outlive it.
Status PlanDenseModules(const std::vector<formats::SafetensorsModel>& modules, std::vector<TensorRecipe>* plan);

}  // namespace inferflux::model
