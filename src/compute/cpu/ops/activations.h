// The rows of a matmul as its kernels read them: cut into runs, one per task, in the element types that the formats of
// its weights need.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/weight_formats/weight_formats.h"
#include "compute/host/arena.h"
#include "compute/host/host_buffer.h"

namespace inferflux::compute::cpu {

// Runs of at most kTaskRows rows; if even, whole vectors of lanes, except for the last run.
struct RowRuns {
  int64_t rows = 0;
  int64_t count = 0;
  bool even = false;

  // The start of run i, or the end of the rows.
  int64_t First(int64_t i) const {
    if (!even) return std::min(rows, i * kTaskRows);
    const int64_t vectors = (rows + kLaneRows - 1) / kLaneRows;
    return std::min(rows, vectors * i / count * kLaneRows);
  }
};
RowRuns RunsOf(int64_t rows, bool in_lanes);

// Converted at most once for all weights that need the same.
class Activations {
 public:
  Activations(host::Arena& arena, ThreadPool& pool, const Kernels& kernels, host::View x, const RowRuns& runs)
      : arena_(arena), pool_(pool), kernels_(kernels), x_(x), runs_(runs) {}

  // Sets `task` to all rows, as matmuls with `format` read them.
  void Give(PanelFormat format, MatmulTask& task);

 private:
  template <class F>
  void ForRows(const F& f);
  void Round(host::Buffer& made);
  void Quantize(const ActivationLayout& layout, host::Buffer& made);
  void GatherInLanes(const ActivationChunk* x);

  int64_t Chunks() const { return (x_.cols + kChunk - 1) / kChunk; }
  // Bytes per chunk of all rows, in lanes.
  int64_t LanesStride() const { return (x_.rows + kLaneRows - 1) / kLaneRows * kLaneVectorBytes; }

  host::Arena& arena_;
  ThreadPool& pool_;
  const Kernels& kernels_;
  const host::View x_;
  const RowRuns runs_;
  host::Buffer made_[kPanelFormats];  // by the first format that needs the same
  host::Buffer lanes_;
};

}  // namespace inferflux::compute::cpu
