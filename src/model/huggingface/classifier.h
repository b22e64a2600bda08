// Sequence classifiers, such as rerankers, as Hugging Face directories store them.
#pragma once

#include <string>

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_config.h"
#include "model/huggingface/hf_family.h"

namespace inferflux::model {

// Whether the directory's model has a head that classifies whole texts ("...ForSequenceClassification").
bool IsClassifier(const formats::HfConfig& config);

// kUnsupported for architectures whose head is for something else, such as the labels of single tokens: without it the
// model would be another.
Status RefuseOtherHeads(const formats::HfConfig& config);

// For a classifier: llama.cpp's keys for the pooling and the names of the labels, and our own for what these cannot
// say. Nothing for other models.
Status WriteClassifier(const formats::HfConfig& config, const HfFamily& family, formats::GgufMetadataBuilder& metadata);

}  // namespace inferflux::model
