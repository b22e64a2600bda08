// Operations that only move floats, the same for every backend in host memory.
#pragma once

#include <span>
#include <vector>

#include "compute/host/arena.h"
#include "compute/host/host_buffer.h"

namespace inferflux::compute::host {

Buffer CopyIn(Arena& arena, std::span<const float> values);              // [1, n]
Buffer GatherRows(Arena& arena, View x, std::span<const int32_t> rows);  // [rows.size(), cols]
std::vector<float> Read(View x);                                         // row-major

}  // namespace inferflux::compute::host
