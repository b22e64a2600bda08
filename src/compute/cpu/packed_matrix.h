// A weight matrix as the CPU's products read it (packed_panels.h), and how it is made of a file's blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compute/cpu/packed_panels.h"
#include "compute/host/pages.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

struct PackedPart {
  PanelFormat format = PanelFormat::kF32;
  int64_t first_output = 0;
  int64_t outputs = 0;
  int64_t first_task = 0;  // tasks are runs of kTaskPanels panels, numbered through all parts
  std::byte* panels = nullptr;  // none where the matrix is not packed
};

struct PackedMatrix {
  int64_t rows = 0;  // outputs
  int64_t cols = 0;  // inputs
  int64_t tasks = 0;
  std::vector<PackedPart> parts;
  std::vector<HostMatrix> unpacked;  // by part, what products pack from where nothing was packed at load
  host::Pages pages;
  std::string description;

  size_t bytes() const { return pages.size(); }
};

// Types that a packed format holds exactly; all others are decoded to F32 panels.
constexpr bool HasPanels(formats::TensorType type) {
  using formats::TensorType;
  switch (type) {
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBf16:
    case TensorType::kQ8_0:
    case TensorType::kQ4_0:
    case TensorType::kQ5_0:
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
    case TensorType::kQ2_K:
    case TensorType::kQ3_K:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
    case TensorType::kQ6_K:
    case TensorType::kIq1S:
    case TensorType::kIq1M:
    case TensorType::kIq2Xxs:
    case TensorType::kIq2Xs:
    case TensorType::kIq2S:
    case TensorType::kIq3Xxs:
    case TensorType::kIq3S:
    case TensorType::kIq4Nl:
    case TensorType::kIq4Xs:
    case TensorType::kTq1_0:
    case TensorType::kTq2_0:
    case TensorType::kMxfp4:
      return true;
    default:
      return false;
  }
}

// Whether products with it multiply bytes; floats otherwise.
constexpr bool IsInt8(PanelFormat format) {
  return format != PanelFormat::kF32 && format != PanelFormat::kF16 && format != PanelFormat::kBf16;
}

PanelFormat FormatOf(formats::TensorType type);
const char* FormatName(PanelFormat format);

// Bytes of one panel of `inputs` inputs.
int64_t PanelBytes(PanelFormat format, int64_t inputs);

// Packs the 16 outputs from panel * 16 on; those that the matrix does not have are zero. `out` is zeroed memory.
void PackPanel(const HostMatrix& matrix, int64_t panel, std::byte* out);

}  // namespace inferflux::compute::cpu
