// Embeddings of texts.
#pragma once

#include <inferflux/generation.h>

#include <span>
#include <string>
#include <vector>

#include "embedded/call_error.h"
#include "embedded/loaded_model_state.h"

namespace inferflux::embedded {

// As Engine::Embed.
Result<std::vector<std::vector<float>>> EmbedTexts(const LoadedModelState& state, std::span<const std::string> texts,
                                                   const GenerateOptions& options);

}  // namespace inferflux::embedded
