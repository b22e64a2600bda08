// A loaded model as the language model of programs (docs/dspy.md). Its chat template, its grammars, its notation for
// calls of tools and its scheduler are those of the server.
#pragma once

#include <inferflux/engine.h>

#include <memory>

#include "dspy/lm/loaded_model.h"

namespace inferflux::embedded {

// Keeps the model loaded.
std::shared_ptr<dspy::LoadedModel> LanguageModel(const Engine& engine);

}  // namespace inferflux::embedded
