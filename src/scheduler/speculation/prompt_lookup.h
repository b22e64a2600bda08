// Drafts without a model: what followed the last time that the text ended like this (prompt lookup decoding, Saxena
// 2023; LLMA, arXiv:2304.04487). Good where the output repeats its prompt: quotes, edits, extraction, code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace inferflux::scheduler {

// Up to `count` tokens that may follow `tokens`: those behind the longest earlier match of their end, of equal ones the
// latest. Empty where not even two tokens match.
std::vector<TokenId> LookUpDraft(std::span<const TokenId> tokens, int32_t count);

}  // namespace inferflux::scheduler
