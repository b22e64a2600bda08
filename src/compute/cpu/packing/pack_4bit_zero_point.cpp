#include "compute/cpu/packing/pack_4bit_zero_point.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <span>

#include "compute/cpu/packing/pack_blocks.h"
#include "compute/host/check_matrix.h"

namespace inferflux::compute::cpu {
namespace {

using Block = formats::BlockQ8_0;
using Blocks = std::span<const Block>;

constexpr int kMost = 15;

Blocks RowOf(const HostMatrix& matrix, int64_t row) {
  const auto* first = reinterpret_cast<const Block*>(matrix.data.data() + row * host::RowBytesOf(matrix));
  return {first, static_cast<size_t>(matrix.cols / kBlock)};
}

Blocks RunAt(Blocks row, int64_t block, int run) {
  return row.subspan(static_cast<size_t>(block),
                     std::min(static_cast<size_t>(run), row.size() - static_cast<size_t>(block)));
}

struct Range {
  int lowest = std::numeric_limits<int>::max(), highest = std::numeric_limits<int>::min();
};

Range RangeOf(Blocks blocks) {
  Range out;
  for (const Block& block : blocks) {
    int8_t lowest = block.qs[0], highest = block.qs[0];
    for (const int8_t q : block.qs) {
      lowest = std::min(lowest, q);
      highest = std::max(highest, q);
    }
    out.lowest = std::min<int>(out.lowest, lowest);
    out.highest = std::max<int>(out.highest, highest);
  }
  return out;
}

bool IsZeroPoint4(Blocks blocks) {
  const Range range = RangeOf(blocks);
  return range.highest - range.lowest <= kMost &&
         std::ranges::all_of(blocks, [&](const Block& block) { return block.d.bits == blocks[0].d.bits; });
}

int ZeroPoint4RunOfRow(Blocks row, int run) {
  for (int64_t b = 0; b < std::ssize(row) && run == kZeroPoint4Run; b += kZeroPoint4Run) {
    if (!IsZeroPoint4(RunAt(row, b, kZeroPoint4Run))) run = 1;
  }
  for (int64_t b = 0; b < std::ssize(row) && run == 1; ++b) {
    if (!IsZeroPoint4(RunAt(row, b, 1))) run = 0;
  }
  return run;
}

template <int kRun>
void Pack(const HostMatrix& matrix, int64_t panel, std::byte* out) {
  auto* chunks = reinterpret_cast<ChunkZeroPoint4<kRun>*>(out);
  const int64_t lanes = std::min<int64_t>(kPanel, matrix.rows - panel * kPanel);
  for (int lane = 0; lane < lanes; ++lane) {
    const Blocks row = RowOf(matrix, panel * kPanel + lane);
    for (int64_t first = 0; first < std::ssize(row); first += kRun) {
      const Blocks blocks = RunAt(row, first, kRun);
      ChunkZeroPoint4<kRun>& chunk = chunks[first / kBlocks];
      const int64_t begin = first % kBlocks;
      const int lowest = RangeOf(blocks).lowest;
      chunk.d[begin / kRun][lane] = blocks[0].d;
      chunk.lowest[begin / kRun][lane] = static_cast<int8_t>(lowest);
      for (int64_t b = 0; b < std::ssize(blocks); ++b) {
        uint8_t above[kBlock];
        for (int i = 0; i < kBlock; ++i) above[i] = static_cast<uint8_t>(blocks[static_cast<size_t>(b)].qs[i] - lowest);
        uint32_t groups[8];
        std::memcpy(groups, above, sizeof(above));
        PackNibbles(chunk.q[begin + b], lane, groups);
      }
    }
  }
}

}  // namespace

int ZeroPoint4Run(const HostMatrix& matrix, ThreadPool& pool) {
  const int first = ZeroPoint4RunOfRow(RowOf(matrix, 0), kZeroPoint4Run);  // that of most matrices is wide
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

void PackZeroPoint4(const HostMatrix& matrix, int run, int64_t panel, std::byte* out) {
  run == kZeroPoint4Run ? Pack<kZeroPoint4Run>(matrix, panel, out) : Pack<1>(matrix, panel, out);
}

}  // namespace inferflux::compute::cpu
