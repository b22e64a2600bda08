// A sequence's state in the library as bytes: the number of tokens it has seen, then the library's own data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/llama_cpp/llama_library.h"

namespace inferflux::engine {

Result<std::vector<std::byte>> SaveState(llama_context& context, int32_t id, int32_t tokens);

// Tokens that the state has seen; kDataLoss if it is not a valid state.
Result<int32_t> StateTokens(std::span<const std::byte> saved);

// Restores into the empty sequence `id`; the cache must have room for it. kUnsupported if the library refuses, for
// example because it needs contiguous room; the sequence is empty then.
Status RestoreState(llama_context& context, int32_t id, std::span<const std::byte> saved);

}  // namespace inferflux::engine
