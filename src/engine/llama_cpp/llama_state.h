// A sequence's state in the library as bytes: how many tokens it has seen, then what the library writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/llama_cpp/llama_library.h"

namespace inferflux::engine {

Result<std::vector<std::byte>> SaveState(llama_context& context, int32_t id, int32_t tokens);

// Tokens that the state has seen; kDataLoss where it is no state.
Result<int32_t> StateTokens(std::span<const std::byte> saved);

// Into the empty sequence `id`, which the cache must have room for. kUnsupported where the library refuses, for one
// because it wants the room in one piece; the sequence is empty then.
Status RestoreState(llama_context& context, int32_t id, std::span<const std::byte> saved);

}  // namespace inferflux::engine
