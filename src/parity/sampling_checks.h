// Checks of the tokens chosen from the logits, and of their reported log probabilities.
#pragma once

#include "parity/check.h"

namespace inferflux::parity {

Finding CheckSamplers(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckLogprobs(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckGreedy(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);

}  // namespace inferflux::parity
