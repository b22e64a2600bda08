#include "compute/cpu/packing/zero_points.h"

#include <algorithm>
#include <atomic>

#include "compute/cpu/weight_formats/zero_point_4.h"
#include "compute/host/check_matrix.h"

namespace inferflux::compute::cpu {
namespace {

constexpr int kMost = 15;

Q8_0Blocks RowOf(const HostMatrix& matrix, int64_t row) {
  const std::byte* first = matrix.data.data() + row * host::RowBytesOf(matrix);
  return {reinterpret_cast<const formats::BlockQ8_0*>(first), static_cast<size_t>(matrix.cols / kBlock)};
}

bool IsZeroPoint4(Q8_0Blocks blocks) {
  const ByteRange range = RangeOf(blocks);
  return range.highest - range.lowest <= kMost &&
         std::ranges::all_of(blocks, [&](const auto& block) { return block.d.bits == blocks[0].d.bits; });
}

int ZeroPoint4RunOfRow(Q8_0Blocks row, int run) {
  for (int64_t b = 0; b < std::ssize(row) && run == kZeroPoint4Run; b += kZeroPoint4Run) {
    if (!IsZeroPoint4(RunAt(row, b, kZeroPoint4Run))) run = 1;
  }
  for (int64_t b = 0; b < std::ssize(row) && run == 1; ++b) {
    if (!IsZeroPoint4(RunAt(row, b, 1))) run = 0;
  }
  return run;
}

}  // namespace

int ZeroPoint4Run(const HostMatrix& matrix, ThreadPool& pool) {
  const int first = ZeroPoint4RunOfRow(RowOf(matrix, 0), kZeroPoint4Run);  // 0 for most matrices
  if (first == 0) return 0;
  std::atomic<int> run = first;
  pool.ParallelFor(matrix.rows, 64, [&](int64_t begin, int64_t end, int) {
    int own = run;
    for (int64_t row = begin; row < end && own > 0; ++row) own = ZeroPoint4RunOfRow(RowOf(matrix, row), own);
    for (int known = run; own < known && !run.compare_exchange_weak(known, own);) {
    }
  });
  return run;
}

}  // namespace inferflux::compute::cpu
