// The random numbers of samplers, stateless: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011). A sequence's i-th number depends only on (seed, i), so preemption does not need to save
// any state.
#pragma once

#include <array>
#include <cstdint>

namespace inferflux::compute {

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// What a draw uses the number for: one draw may need several independent ones.
enum class RandomUse : uint32_t { kToken = 0, kXtc = 1 };

// Uniform in [0, 1), a multiple of 2^-53.
double Uniform(uint64_t seed, uint64_t draw, RandomUse use);

}  // namespace inferflux::compute
