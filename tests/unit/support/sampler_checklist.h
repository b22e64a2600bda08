// What every engine's sampling must do, whatever samples for it: the draws at one position follow the reference
// distribution of the engine's own logits there, for each parameter, and the log probabilities are the logits'.
#pragma once

#include "engine/inference_backend.h"

namespace inferflux::testing {

// Reports through GoogleTest. The engine must hold two sequences of 24 tokens.
void CheckSampler(engine::InferenceBackend& engine);

}  // namespace inferflux::testing
