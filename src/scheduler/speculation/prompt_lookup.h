// Drafts without a model: what followed the last occurrence of the text's end (prompt lookup decoding, Saxena 2023;
// LLMA, arXiv:2304.04487). Works well if the output repeats its prompt: quotes, edits, extraction, code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace inferflux::scheduler {

// Up to `count` tokens that may follow `tokens`: those after the longest earlier match of its end, and of equally long
// ones the latest. Empty if not even two tokens match.
std::vector<TokenId> LookUpDraft(std::span<const TokenId> tokens, int32_t count);

}  // namespace inferflux::scheduler
