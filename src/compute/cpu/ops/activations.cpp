#include "compute/cpu/ops/activations.h"

#include <algorithm>

#include "compute/cpu/ops/lane_chunks.h"

namespace inferflux::compute::cpu {

RowRuns RunsOf(int64_t rows, bool in_lanes) {
  // Seven vectors leave registers for totals: on Zen 3 Q6_K gains 7% by it over eight. Few rows are best not cut.
  const bool even = in_lanes && rows > kTaskRows;
  const int64_t most = even ? (kLaneVectors - 1) * kLaneRows : kTaskRows;
  return {.rows = rows, .count = (rows + most - 1) / most, .even = even};
}

Activations::Flavour Activations::FlavourOf(PanelFormat format) {
  switch (format) {
    case PanelFormat::kF32:
    case PanelFormat::kF16:
    case PanelFormat::kFp8:
      return Flavour::kFloat;
    case PanelFormat::kBf16:
      return Flavour::kBf16;
    case PanelFormat::kQ4_0:
      return Flavour::kBlocksOffset8;
    case PanelFormat::kFp4:
      return Flavour::kBlocksOffset12;
    case PanelFormat::kNvFp4:
      return Flavour::kHalvesOffset12;
    case PanelFormat::kQ5_0:
      return Flavour::kBlocksOffset16;
    case PanelFormat::kQ8_0:
    case PanelFormat::kZeroPoint4By32:
    case PanelFormat::kZeroPoint4By128:
    case PanelFormat::kQ4_1:
    case PanelFormat::kQ5_1:
    case PanelFormat::kIq4Nl:
    case PanelFormat::kIq4Xs:
      return Flavour::kBlocksSigned;
    case PanelFormat::kQ2K:
    case PanelFormat::kQ3K:
    case PanelFormat::kQ4K:
    case PanelFormat::kQ5K:
    case PanelFormat::kQ6K:
    case PanelFormat::kCodebook:
      return Flavour::kChunks;
  }
  return Flavour::kFloat;
}

// What weights by block are stored with on top of their values.
int32_t Activations::OffsetOf(Flavour flavour) const {
  switch (flavour) {
    case Flavour::kBlocksOffset8:
      return 8;
    case Flavour::kBlocksOffset12:
    case Flavour::kHalvesOffset12:
      return 12;
    case Flavour::kBlocksOffset16:
      return 16;
    case Flavour::kBlocksSigned:
      return kernels_.signed_offset;
    default:
      return 0;
  }
}

void Activations::Give(PanelFormat format, MatmulTask& task) {
  const Flavour flavour = FlavourOf(format);
  host::Buffer& made = made_[static_cast<int>(flavour)];
  switch (flavour) {
    case Flavour::kFloat:
      task.x = {x_.data, x_.stride};
      return;
    case Flavour::kBf16:
      if (made.rows() == 0) Round(made);
      task.x_bf16 = {reinterpret_cast<const Bf16*>(made.row(0)), 2 * made.stride()};
      return;
    default:
      if (made.rows() == 0) Quantize(flavour, made);
      task.activations = reinterpret_cast<const ActivationChunk*>(made.row(0));
      task.activation_rows = x_.rows;
      if (flavour == Flavour::kChunks && kernels_.rows_in_lanes && LaneVectorsOf(runs_.First(1)) > 0) {
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

void Activations::Quantize(Flavour flavour, host::Buffer& made) {
  made = arena_.Allocate(Chunks() * x_.rows, sizeof(ActivationChunk) / sizeof(float));
  auto* out = reinterpret_cast<ActivationChunk*>(made.row(0));
  const int32_t offset = OffsetOf(flavour);
  const auto quantize_blocks =
      flavour == Flavour::kHalvesOffset12 ? kernels_.quantize_halves : kernels_.quantize_blocks;
  ForRows([&](int64_t r) {
    for (int64_t c = 0; c < Chunks(); ++c) {
      const float* from = x_.row(r) + c * kChunk;
      ActivationChunk* to = out + c * x_.rows + r;
      if (flavour == Flavour::kChunks) {
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
      GatherLanes(x + c * x_.rows + first, rows, out + c * LanesStride() + first / kLaneRows * kLaneVectorBytes);
    }
  });
}

}  // namespace inferflux::compute::cpu
