// Loads libllama's model and creates its context, from our options.
#pragma once

#include <memory>
#include <vector>

#include "base/file_faults/file_faults.h"
#include "base/result.h"
#include "engine/llama_cpp/llama_library.h"
#include "engine/llama_cpp/llama_options.h"
#include "model/loading/model_source.h"
#include "model/pooling.h"

namespace inferflux::engine {

struct LoadedLlama {
  LlamaModelPtr model;
  LlamaContextPtr context;       // destroyed before the model
  int32_t sequence_context = 0;  // maximum tokens of a sequence
  int32_t ids = 0;               // sequence ids of the context
  bool partial_copies = true;    // false: the model keeps a state that cannot be cut
  bool causal = true;            // false: an encoder, which computes whole texts and keeps no KV
  model::PoolingConfig pooling;
  // Of the model's mappings. Destroyed first: once those are gone, another file may take their addresses.
  std::vector<std::unique_ptr<GuardedRange>> guards;
};

Result<LoadedLlama> LoadLlama(const model::ModelSource& source, const LlamaOptions& options);

}  // namespace inferflux::engine
