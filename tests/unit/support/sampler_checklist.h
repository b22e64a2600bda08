// What every engine's sampling must do, whatever samples for it: the draws at one position follow the reference
// distribution of the engine's own logits there, for each parameter, and the log probabilities are the logits'.
#pragma once

#include "engine/engine.h"

namespace inferflux::testing {

// Reports through GoogleTest. The engine must hold two sequences of 24 tokens.
void CheckSampler(engine::Engine& engine);

}  // namespace inferflux::testing
