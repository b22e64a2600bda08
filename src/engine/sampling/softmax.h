// The softmax of a row of logits, unnormalised: fast loops over the whole vocabulary.
#pragma once

#include <span>

namespace inferflux::engine {

// Replaces NaN by -infinity and +infinity by the largest float, so that one bad logit does not spoil the others.
void Sanitize(std::span<float> logits);

// The highest logit; -infinity if all logits are.
float Highest(std::span<const float> logits);

// weights[i] = exp((logits[i] - highest) * inverse_temperature); returns their sum. Relative error below 1e-6.
double ExpWeights(std::span<const float> logits, float highest, float inverse_temperature, std::span<float> weights);

}  // namespace inferflux::engine
