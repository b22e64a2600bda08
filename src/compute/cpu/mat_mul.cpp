#include <algorithm>
#include <atomic>

#include "compute/cpu/cpu_backend.h"

namespace inferflux::compute {
namespace {

using cpu::ActivationChunk;
using cpu::PanelFormat;

// Products smaller than this many multiply-adds are not worth waking another core for.
constexpr int64_t kSmallProduct = int64_t{1} << 17;

// How a format wants its activations.
enum class Flavour { kFloat, kBf16, kBlocksOffset8, kBlocksSigned, kChunks };

Flavour FlavourOf(PanelFormat format) {
  switch (format) {
    case PanelFormat::kF32:
    case PanelFormat::kF16:
      return Flavour::kFloat;
    case PanelFormat::kBf16:
      return Flavour::kBf16;
    case PanelFormat::kQ4_0:
      return Flavour::kBlocksOffset8;
    case PanelFormat::kQ8_0:
    case PanelFormat::kQ4_1:
    case PanelFormat::kQ5_1:
    case PanelFormat::kIq4:
    case PanelFormat::kFp4:
      return Flavour::kBlocksSigned;
    case PanelFormat::kQ2K:
    case PanelFormat::kQ4K:
    case PanelFormat::kQ5K:
    case PanelFormat::kQ6K:
    case PanelFormat::kQ7K:
      return Flavour::kChunks;
  }
  return Flavour::kFloat;
}

// Parts of one flavour share their activations: made at most once a product.
class Activations {
 public:
  Activations(Cpu::Context& context, host::View x) : context_(context), x_(x) {}

  // Gives `task` all rows as `flavour` wants them.
  void Give(Flavour flavour, cpu::ProductTask& task) {
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
    }
  }

 private:
  template <class F>
  void ForRows(const F& f) {
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / x_.cols);
    context_.pool.ParallelFor(x_.rows, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) f(r);
    });
  }

  void Round(host::Buffer& made) {
    made = context_.arena.Allocate(x_.rows, (x_.cols + 1) / 2);
    ForRows([&](int64_t r) {
      auto* to = reinterpret_cast<Bf16*>(made.row(r));
      context_.kernels.round_bf16(x_.row(r), x_.cols, to);
      if (x_.cols % 2 != 0) to[x_.cols] = {};
    });
  }

  void Quantize(Flavour flavour, host::Buffer& made) {
    const int64_t chunks = (x_.cols + cpu::kChunk - 1) / cpu::kChunk;
    made = context_.arena.Allocate(chunks * x_.rows, sizeof(ActivationChunk) / sizeof(float));
    auto* out = reinterpret_cast<ActivationChunk*>(made.row(0));
    const auto& kernels = context_.kernels;
    const int32_t offset = flavour == Flavour::kBlocksOffset8 ? 8 : kernels.signed_offset;
    ForRows([&](int64_t r) {
      for (int64_t c = 0; c < chunks; ++c) {
        const float* from = x_.row(r) + c * cpu::kChunk;
        ActivationChunk* to = out + c * x_.rows + r;
        if (flavour == Flavour::kChunks) {
          kernels.quantize_chunk(from, to);
        } else {
          kernels.quantize_blocks(from, std::min<int64_t>(cpu::kChunk, x_.cols - c * cpu::kChunk), offset, to);
        }
      }
    });
  }

  Cpu::Context& context_;
  host::View x_;
  host::Buffer made_[5];
};

// Calls body(begin, end, worker) for [0, count) cut into runs that get shorter towards the end: a worker's weights
// follow one another in memory, so that what it fetches ahead is its own, and yet all end at about the same time.
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

cpu::ProductTask FromRow(cpu::ProductTask task, int64_t row) {
  if (task.activations != nullptr) task.activations += row;
  task.x = task.x.From(row);
  task.x_bf16 = task.x_bf16.From(row);
  task.y += row * task.y_stride;
  return task;
}

// What one worker needs to pack a task's panels, in floats.
int64_t PanelFloats(const cpu::PackedMatrix& matrix) {
  int64_t most = 0;
  for (const auto& part : matrix.parts) most = std::max(most, cpu::PanelBytes(part.format, matrix.cols));
  return most * cpu::kTaskPanels / 4;
}

// Packs the task's panels into `panels` and has it count from there.
void PackFor(cpu::ProductTask& task, PanelFormat format, const HostMatrix& from, std::byte* panels) {
  const int64_t count = task.last_panel - task.first_panel;
  const int64_t bytes = cpu::PanelBytes(format, task.inputs);
  std::fill_n(panels, count * bytes, std::byte{0});
  for (int64_t n = 0; n < count; ++n) cpu::PackPanel(from, task.first_panel + n, panels + n * bytes);
  task.panels = panels;
  task.outputs -= task.first_panel * cpu::kPanel;
  task.y += task.first_panel * cpu::kPanel;
  task.first_panel = 0;
  task.last_panel = count;
}

}  // namespace

host::Buffer Cpu::MatMul(Context& context, View x, const Matrix& matrix) {
  Buffer out = context.arena.Allocate(x.rows, matrix.rows);
  Activations activations(context, x);
  std::vector<cpu::ProductTask> tasks;  // one a part, to be narrowed to panels and rows
  for (const cpu::PackedPart& part : matrix.parts) {
    tasks.push_back({.panels = part.panels, .inputs = matrix.cols, .outputs = part.outputs, .y_stride = out.stride()});
    activations.Give(FlavourOf(part.format), tasks.back());
  }
  Buffer scratch = context.arena.Allocate(context.pool.workers(), cpu::kProductScratchBytes / 4);
  const bool packed = matrix.unpacked.empty();
  Buffer panels = packed ? Buffer() : context.arena.Allocate(context.pool.workers(), PanelFloats(matrix));

  // One unit is a run of panels times a run of rows; neighbours share the rows. What is packed here serves all rows.
  const int64_t unit_rows = packed ? cpu::kTaskRows : x.rows;
  const int64_t units = (x.rows + unit_rows - 1) / unit_rows * matrix.tasks;
  const auto run_units = [&](int64_t begin, int64_t end, int worker) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t run = unit % matrix.tasks;
      size_t p = matrix.parts.size() - 1;
      while (matrix.parts[p].first_task > run) --p;
      const cpu::PackedPart& part = matrix.parts[p];
      cpu::ProductTask task = tasks[p];
      task.first_panel = (run - part.first_task) * cpu::kTaskPanels;
      task.last_panel = std::min(task.first_panel + cpu::kTaskPanels, (part.outputs + cpu::kPanel - 1) / cpu::kPanel);
      task.y = out.row(0) + part.first_output;
      task.scratch = reinterpret_cast<std::byte*>(scratch.row(worker));
      if (!packed) PackFor(task, part.format, matrix.unpacked[p], reinterpret_cast<std::byte*>(panels.row(worker)));
      const int64_t first_row = unit / matrix.tasks * unit_rows;
      const int64_t last_row = std::min(first_row + unit_rows, x.rows);
      for (int64_t row = first_row; row < last_row; row += cpu::kTaskRows) {
        task.rows = std::min(cpu::kTaskRows, last_row - row);
        context.kernels.product[static_cast<int>(part.format)](FromRow(task, row));
      }
    }
  };
  if (x.rows * matrix.rows * matrix.cols < kSmallProduct) {
    run_units(0, units, 0);
  } else {
    ForRuns(context.pool, units, run_units);
  }
  return out;
}

}  // namespace inferflux::compute
