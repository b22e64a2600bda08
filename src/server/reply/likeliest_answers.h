// Chooses the likeliest of several answers to a prompt.
#pragma once

#include <cstddef>
#include <vector>

#include "scheduler/generation.h"

namespace inferflux::server {

// Of each `made` answers in a row, keeps the `kept` with the highest mean log probability of their tokens, likeliest
// first. The tokens must carry log probabilities.
std::vector<scheduler::StreamEvent> LikeliestAnswers(std::vector<scheduler::StreamEvent> answers, size_t made,
                                                     size_t kept);

}  // namespace inferflux::server
