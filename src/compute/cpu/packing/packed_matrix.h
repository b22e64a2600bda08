// A weight matrix as the CPU's matmuls read it (weight_formats/panel.h), and its packing from a file's blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "compute/cpu/weight_formats/weight_formats.h"
#include "compute/host/pages.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

struct PackedPart {
  PanelFormat format = FormatOf<DenseF32>();
  int64_t first_output = 0;
  int64_t outputs = 0;
  int64_t first_task = 0;       // tasks are runs of kTaskPanels panels, numbered through all parts
  std::byte* panels = nullptr;  // null if the matrix is not packed
};

struct PackedMatrix {
  int64_t rows = 0;  // outputs
  int64_t cols = 0;  // inputs
  int64_t tasks = 0;
  std::vector<PackedPart> parts;
  std::vector<HostMatrix> unpacked;  // by part: the source for packing in matmuls, if nothing was packed at load
  host::Pages pages;
  std::string description;

  size_t bytes() const { return pages.size(); }
};

// The format of a matrix, which may have another layout than its type, or need fewer bits.
PanelFormat FormatOf(const HostMatrix& matrix, ThreadPool& pool);

const char* FormatName(PanelFormat format);

// Whether its matmuls multiply bytes; otherwise floats.
bool IsInt8(PanelFormat format);

// Bytes of one panel of `inputs` inputs.
int64_t PanelBytes(PanelFormat format, int64_t inputs);

// Packs the 16 outputs from panel * 16 on in `format`; missing outputs are zero. `out` must be zeroed memory.
void PackPanel(const HostMatrix& matrix, PanelFormat format, int64_t panel, std::byte* out);

}  // namespace inferflux::compute::cpu
