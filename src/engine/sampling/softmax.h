// The softmax of a row of logits, unnormalised: fast loops over the whole vocabulary.
#pragma once

#include <span>

namespace inferflux::engine {

// NaN becomes -infinity, +infinity the largest float: a sick logit must not decide, nor poison the others.
void Sanitize(std::span<float> logits);

// The highest logit; -infinity where there is none.
float Highest(std::span<const float> logits);

// weights[i] = exp((logits[i] - highest) * inverse_temperature), and their sum. Relative error below 1e-6.
double ExpWeights(std::span<const float> logits, float highest, float inverse_temperature, std::span<float> weights);

}  // namespace inferflux::engine
