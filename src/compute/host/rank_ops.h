// The operations of RankCollectives in host memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/collective.h"
#include "compute/host/arena.h"
#include "compute/host/host_buffer.h"

namespace inferflux::compute::host {

// Every rank's columns next to each other, by rank. own: [rows, columns[rank]]; the result: [rows, sum of columns].
// Throws ThrownError when the ranks have failed.
std::vector<float> GatherColumns(collective::Collective& ranks, std::span<const float> own, int64_t rows,
                                 std::span<const int64_t> columns);

Buffer SumOverRanks(collective::Collective& ranks, Buffer x);
Buffer GatherOverRanks(Arena& arena, collective::Collective& ranks, View x, std::span<const int64_t> columns);
void SendRows(collective::Collective& ranks, View x, int32_t to);
Buffer ReceiveRows(Arena& arena, collective::Collective& ranks, int64_t rows, int64_t columns, int32_t from);

}  // namespace inferflux::compute::host
