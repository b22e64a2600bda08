// From options to libllama's model and context.
#pragma once

#include "base/result.h"
#include "engine/llama_cpp/llama_library.h"
#include "engine/llama_cpp/llama_options.h"
#include "model/loading/model_source.h"
#include "model/pooling.h"

namespace inferflux::engine {

struct LoadedLlama {
  LlamaModelPtr model;
  LlamaContextPtr context;       // destroyed first
  int32_t sequence_context = 0;  // tokens a sequence may have
  int32_t ids = 0;               // sequence ids of the context
  bool partial_copies = true;    // false: the model keeps a state that cannot be cut
  bool causal = true;            // false: an encoder, whose texts are computed whole and leave nothing behind
  model::PoolingConfig pooling;
};

Result<LoadedLlama> LoadLlama(const model::ModelSource& source, const LlamaOptions& options);

}  // namespace inferflux::engine
