// From what a program asks to requests for the model's scheduler, through the same rendering, tokenising and grammars
// as the server's.
#pragma once

#include <inferflux/generation.h>

#include <span>

#include "embedded/call_error.h"
#include "embedded/loaded_model_state.h"
#include "serving/generation/build_generation.h"

namespace inferflux::embedded {

// kInvalidConfig names a setting that is out of range, or contradicts the load.
Status CheckOptions(const GenerateOptions& options, const LoadOptions& load);

// The messages in the form that chat templates take.
serving::Chat ToChat(std::span<const Message> messages);

// One answer. The options are checked.
Result<serving::Generation> BuildCall(const LoadedModelState& state, serving::Chat chat,
                                      const GenerateOptions& options);
Result<serving::Generation> BuildCall(const LoadedModelState& state, serving::RawPrompt prompt,
                                      const GenerateOptions& options);

}  // namespace inferflux::embedded
