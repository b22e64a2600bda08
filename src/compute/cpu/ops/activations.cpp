#include "compute/cpu/ops/activations.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace inferflux::compute::cpu {

namespace {

using Kind = ActivationLayout::Kind;

constexpr auto kLayouts = [] {
  std::array<ActivationLayout, kPanelFormats> out;
  int row = 0;
  ForFormats([&]<class Format>() { out[row++] = ActivationLayoutOf<Format>(); });
  return out;
}();

// The first format that needs activations of the same kind.
size_t FirstWithLayout(const ActivationLayout& layout) {
  return static_cast<size_t>(std::ranges::find(kLayouts, layout) - kLayouts.begin());
}

// Converts one chunk of `rows` rows, quantised by chunk, to the RowLaneChunk<LaneVectorsOf(rows)> at `to`; lanes
// without a row are zero.
template <int V>
void GatherLanes(const ActivationChunk* x, int64_t rows, std::byte* to) {
  if constexpr (V > kFewestLaneVectors) {
    if (LaneVectorsOf(rows) < V) return GatherLanes<V - 1>(x, rows, to);
  }
  using Chunk = RowLaneChunk<V>;
  static_assert(sizeof(Chunk) <= V * kLaneVectorBytes);
  auto& out = *new (to) Chunk;
  if (rows < Chunk::kRows) std::memset(to, 0, sizeof(Chunk));
  out.highest32 = out.highest8 = 0;
  for (int64_t r = 0; r < std::min<int64_t>(rows, Chunk::kRows); ++r) {
    for (int g = 0; g < kChunk / kGroup; ++g) std::memcpy(out.q[g][r], x[r].q + kGroup * g, kGroup);
    for (int i = 0; i < kBlocks; ++i) out.sums[i / 2][r][i % 2] = x[r].sums[i];
    for (int i = 0; i < kSubs16; ++i) out.sums16[i / 2][r][i % 2] = x[r].sums16[i];
    out.scales[r] = x[r].scales[0];
    out.highest32 = std::max(out.highest32, x[r].highest32);
    out.highest8 = std::max(out.highest8, x[r].highest8);
  }
}

}  // namespace

RowRuns RunsOf(int64_t rows, bool in_lanes) {
  // Seven vectors leave registers for totals: on Zen 3, Q6_K is 7% faster than with eight. Few rows are best not cut.
  const bool even = in_lanes && rows > kTaskRows;
  const int64_t most = even ? (kLaneVectors - 1) * kLaneRows : kTaskRows;
  return {.rows = rows, .count = (rows + most - 1) / most, .even = even};
}

void Activations::Give(PanelFormat format, MatmulTask& task) {
  const ActivationLayout& layout = kLayouts[static_cast<size_t>(IndexOf(format))];
  host::Buffer& made = made_[FirstWithLayout(layout)];
  switch (layout.kind) {
    case Kind::kFloats:
      task.x = {x_.data, x_.stride};
      return;
    case Kind::kBf16:
      if (made.rows() == 0) Round(made);
      task.x_bf16 = {reinterpret_cast<const Bf16*>(made.row(0)), 2 * made.stride()};
      return;
    default:
      if (made.rows() == 0) Quantize(layout, made);
      task.activations = reinterpret_cast<const ActivationChunk*>(made.row(0));
      task.activation_rows = x_.rows;
      if (layout.kind == Kind::kChunks && kernels_.rows_in_lanes && LaneVectorsOf(runs_.First(1)) > 0) {
        if (lanes_.rows() == 0) GatherInLanes(task.activations);
        task.lanes = reinterpret_cast<const std::byte*>(lanes_.row(0));
        task.lanes_stride = LanesStride();
      }
  }
}

template <class F>
void Activations::ForRows(const F& f) {
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / x_.cols);
  pool_.ParallelFor(x_.rows, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) f(r);
  });
}

void Activations::Round(host::Buffer& made) {
  made = arena_.Allocate(x_.rows, (x_.cols + 1) / 2);
  ForRows([&](int64_t r) {
    auto* to = reinterpret_cast<Bf16*>(made.row(r));
    kernels_.round_bf16(x_.row(r), x_.cols, to);
    if (x_.cols % 2 != 0) to[x_.cols] = {};
  });
}

void Activations::Quantize(const ActivationLayout& layout, host::Buffer& made) {
  made = arena_.Allocate(Chunks() * x_.rows, sizeof(ActivationChunk) / sizeof(float));
  auto* out = reinterpret_cast<ActivationChunk*>(made.row(0));
  const int32_t offset = layout.offset == ActivationLayout::kSignedOffset ? kernels_.signed_offset : layout.offset;
  const auto quantize_blocks = layout.kind == Kind::kHalves ? kernels_.quantize_halves : kernels_.quantize_blocks;
  ForRows([&](int64_t r) {
    for (int64_t c = 0; c < Chunks(); ++c) {
      const float* from = x_.row(r) + c * kChunk;
      ActivationChunk* to = out + c * x_.rows + r;
      if (layout.kind == Kind::kChunks) {
        kernels_.quantize_chunk(from, to);
      } else {
        quantize_blocks(from, std::min<int64_t>(kChunk, x_.cols - c * kChunk), offset, to);
      }
    }
  });
}

void Activations::GatherInLanes(const ActivationChunk* x) {
  lanes_ = arena_.Allocate(Chunks(), LanesStride() / static_cast<int64_t>(sizeof(float)));
  auto* out = reinterpret_cast<std::byte*>(lanes_.row(0));
  pool_.ParallelFor(Chunks() * runs_.count, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i / runs_.count;
      const int64_t first = runs_.First(i % runs_.count);
      const int64_t rows = runs_.First(i % runs_.count + 1) - first;
      if (LaneVectorsOf(rows) == 0) continue;
      GatherLanes<kLaneVectors>(x + c * x_.rows + first, rows,
                                out + c * LanesStride() + first / kLaneRows * kLaneVectorBytes);
    }
  });
}

}  // namespace inferflux::compute::cpu
