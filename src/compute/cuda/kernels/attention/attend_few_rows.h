// Attention of tiles that have few rows, as those of a decode step have.
#pragma once

#include "compute/cuda/kernels/attention/attention.h"

namespace inferflux::cuda {

inline constexpr int kFewTileRows = 16;  // of a tile: queries times the heads of a KV head

// Attend without the merge of chunks, where no tile has more than kFewTileRows rows. `grid`: tiles, KV heads, chunks.
template <class T, int kDim>
Status LaunchAttendFewRows(const AttentionArguments<T>& arguments, Dim3 grid, Stream stream);

}  // namespace inferflux::cuda
