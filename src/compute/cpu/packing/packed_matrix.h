// A weight matrix as the CPU's products read it (packed_panels.h), and how it is made of a file's blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "compute/cpu/packing/packed_panels.h"
#include "compute/host/pages.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

struct PackedPart {
  PanelFormat format = PanelFormat::kF32;
  int64_t first_output = 0;
  int64_t outputs = 0;
  int64_t first_task = 0;       // tasks are runs of kTaskPanels panels, numbered through all parts
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

// The panels that a type of a file is held in, exactly; types that have none of their own are decoded to F32.
constexpr PanelFormat FormatOf(formats::TensorType type) {
  using formats::TensorType;
  switch (type) {
    case TensorType::kF16:
      return PanelFormat::kF16;
    case TensorType::kBf16:
      return PanelFormat::kBf16;
    case TensorType::kQ8_0:
      return PanelFormat::kQ8_0;
    case TensorType::kQ4_0:
      return PanelFormat::kQ4_0;
    case TensorType::kQ4_1:
      return PanelFormat::kQ4_1;
    case TensorType::kQ5_0:
      return PanelFormat::kQ5_0;
    case TensorType::kQ5_1:
      return PanelFormat::kQ5_1;
    case TensorType::kIq4Nl:
      return PanelFormat::kIq4Nl;
    case TensorType::kIq4Xs:
      return PanelFormat::kIq4Xs;
    case TensorType::kMxfp4:
      return PanelFormat::kFp4;
    case TensorType::kNvfp4:
      return PanelFormat::kNvFp4;
    case TensorType::kQ2_K:
    case TensorType::kTq1_0:
    case TensorType::kTq2_0:
      return PanelFormat::kQ2K;
    case TensorType::kQ3_K:
      return PanelFormat::kQ3K;
    case TensorType::kQ4_K:
      return PanelFormat::kQ4K;
    case TensorType::kQ5_K:
      return PanelFormat::kQ5K;
    case TensorType::kQ6_K:
      return PanelFormat::kQ6K;
    case TensorType::kIq1S:
    case TensorType::kIq1M:
    case TensorType::kIq2Xxs:
    case TensorType::kIq2Xs:
    case TensorType::kIq2S:
    case TensorType::kIq3Xxs:
    case TensorType::kIq3S:
      return PanelFormat::kCodebook;
    default:
      return PanelFormat::kF32;
  }
}

// The same of a matrix, which may be in another form, or narrower than its type.
PanelFormat FormatOf(const HostMatrix& matrix, ThreadPool& pool);

// Whether they are made without decoding.
constexpr bool HasPanels(formats::TensorType type) {
  return type == formats::TensorType::kF32 || FormatOf(type) != PanelFormat::kF32;
}

// Whether products with it multiply bytes; floats otherwise.
constexpr bool IsInt8(PanelFormat format) {
  return format != PanelFormat::kF32 && format != PanelFormat::kF16 && format != PanelFormat::kBf16 &&
         format != PanelFormat::kFp8;
}

const char* FormatName(PanelFormat format);

// Bytes of one panel of `inputs` inputs.
int64_t PanelBytes(PanelFormat format, int64_t inputs);

// Packs the 16 outputs from panel * 16 on in its format; those that the matrix does not have are zero. `out` is zeroed
// memory.
void PackPanel(const HostMatrix& matrix, PanelFormat format, int64_t panel, std::byte* out);

}  // namespace inferflux::compute::cpu
