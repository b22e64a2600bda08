// Drafts from a text that the client expects, such as the file that the answer edits (OpenAI's "predicted outputs").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace inferflux::scheduler {

// Up to `count` tokens of `prediction` that may follow `generated`: those after the longest match of its end, and of
// equally long ones the first. The first token needs to match only the first one; later, two tokens must match.
std::vector<TokenId> PredictedDraft(std::span<const TokenId> prediction, std::span<const TokenId> generated,
                                    int32_t count);

}  // namespace inferflux::scheduler
