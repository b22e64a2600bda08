#include <algorithm>
#include <atomic>

#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/ops/activations.h"

namespace inferflux::compute {
namespace {

// Smaller matmuls, in multiply-adds, are not worth waking another core.
constexpr int64_t kSmallMatmul = int64_t{1} << 17;

// Calls body(begin, end, worker) for [0, count) in runs that get shorter towards the end: a worker's weights are
// contiguous in memory, so it prefetches its own, and all workers still end at about the same time.
template <class F>
void ForRuns(ThreadPool& pool, int64_t count, const F& body) {
  const int64_t share = int64_t{4} * pool.workers();
  std::atomic<int64_t> next{0};
  pool.Run([&](int worker) {
    for (int64_t begin = next.load(std::memory_order_relaxed); begin < count;) {
      const int64_t end = begin + std::max<int64_t>(1, (count - begin) / share);
      if (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
      body(begin, end, worker);
      begin = next.load(std::memory_order_relaxed);
    }
  });
}

cpu::MatmulTask FromRow(cpu::MatmulTask task, int64_t row) {
  if (task.activations != nullptr) task.activations += row;
  if (task.lanes != nullptr) task.lanes += row / cpu::kLaneRows * cpu::kLaneVectorBytes;
  task.x = task.x.From(row);
  task.x_bf16 = task.x_bf16.From(row);
  task.y += row * task.y_stride;
  return task;
}

// Floats that one worker needs to pack a task's panels.
int64_t PanelFloats(const cpu::PackedMatrix& matrix) {
  int64_t most = 0;
  for (const auto& part : matrix.parts) most = std::max(most, cpu::PanelBytes(part.format, matrix.cols));
  return most * cpu::kTaskPanels / 4;
}

// Packs the task's panels into `panels` and rebases the task on them.
void PackFor(cpu::MatmulTask& task, const HostMatrix& from, cpu::PanelFormat format, std::byte* panels) {
  const int64_t count = task.last_panel - task.first_panel;
  std::fill_n(panels, count * task.panel_bytes, std::byte{0});
  for (int64_t n = 0; n < count; ++n) cpu::PackPanel(from, format, task.first_panel + n, panels + n * task.panel_bytes);
  task.panels = panels;
  task.outputs -= task.first_panel * cpu::kPanel;
  task.y += task.first_panel * cpu::kPanel;
  task.first_panel = 0;
  task.last_panel = count;
}

}  // namespace

host::Buffer Cpu::MatMul(Context& context, View x, const Matrix& matrix) {
  Buffer out = context.arena.Allocate(x.rows, matrix.rows);
  const cpu::RowRuns runs = cpu::RunsOf(x.rows, context.kernels.rows_in_lanes);
  cpu::Activations activations(context.arena, context.pool, context.kernels, x, runs);
  std::vector<cpu::MatmulTask> tasks;  // one per part, to be narrowed to panels and rows
  for (const cpu::PackedPart& part : matrix.parts) {
    tasks.push_back({.panels = part.panels,
                     .panel_bytes = cpu::PanelBytes(part.format, matrix.cols),
                     .inputs = matrix.cols,
                     .outputs = part.outputs,
                     .y_stride = out.stride()});
    activations.Give(part.format, tasks.back());
  }
  Buffer scratch = context.arena.Allocate(context.pool.workers(), cpu::kMatmulScratchBytes / 4);
  const bool packed = matrix.unpacked.empty();
  Buffer panels = packed ? Buffer() : context.arena.Allocate(context.pool.workers(), PanelFloats(matrix));

  // A unit of work is a run of panels times a run of rows; adjacent units share the rows. Panels packed here serve all
  // rows.
  const int64_t units = (packed ? runs.count : 1) * matrix.tasks;
  const auto run_units = [&](int64_t begin, int64_t end, int worker) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t panel_run = unit % matrix.tasks;
      size_t p = matrix.parts.size() - 1;
      while (matrix.parts[p].first_task > panel_run) --p;
      const cpu::PackedPart& part = matrix.parts[p];
      cpu::MatmulTask task = tasks[p];
      task.first_panel = (panel_run - part.first_task) * cpu::kTaskPanels;
      task.last_panel = std::min(task.first_panel + cpu::kTaskPanels, (part.outputs + cpu::kPanel - 1) / cpu::kPanel);
      task.y = out.row(0) + part.first_output;
      task.scratch = reinterpret_cast<std::byte*>(scratch.row(worker));
      if (!packed) PackFor(task, matrix.unpacked[p], part.format, reinterpret_cast<std::byte*>(panels.row(worker)));
      const int64_t first_run = packed ? unit / matrix.tasks : 0;
      const int64_t last_run = packed ? first_run + 1 : runs.count;
      for (int64_t r = first_run; r < last_run; ++r) {
        task.rows = runs.First(r + 1) - runs.First(r);
        context.kernels.matmul[cpu::IndexOf(part.format)](FromRow(task, runs.First(r)));
      }
    }
  };
  if (x.rows * matrix.rows * matrix.cols < kSmallMatmul) {
    run_units(0, units, 0);
  } else {
    ForRuns(context.pool, units, run_units);
  }
  return out;
}

}  // namespace inferflux::compute
