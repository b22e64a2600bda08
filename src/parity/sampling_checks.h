// Checks of what is chosen from the logits, and of what is said about the choice.
#pragma once

#include "parity/check.h"

namespace inferflux::parity {

Finding CheckSamplers(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckLogprobs(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckGreedy(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);

}  // namespace inferflux::parity
