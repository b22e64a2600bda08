#include "compute/cpu/packing/packed_matrix.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compute/cpu/packing/zero_points.h"
#include "compute/host/check_matrix.h"

namespace inferflux::compute::cpu {
namespace {

// The rows of a matrix in a panel: calls use(lane, row).
template <class Use>
void ForLanes(const HostMatrix& matrix, int64_t panel, const Use& use) {
  const int64_t first = panel * kPanel;
  const int64_t lanes = std::min<int64_t>(kPanel, matrix.rows - first);
  for (int64_t lane = 0; lane < lanes; ++lane) use(static_cast<int>(lane), first + lane);
}

const std::byte* RowAt(const HostMatrix& matrix, int64_t row) {
  return matrix.data.data() + row * host::RowBytesOf(matrix);
}

template <class Format, class Block>
void PackBlocks(const HostMatrix& matrix, int64_t panel, typename Format::Chunk* chunks) {
  constexpr int kInChunk = kChunk / Format::kFileBlock;
  for (int64_t b = 0; b < matrix.cols / Format::kFileBlock; ++b) {
    ForLanes(matrix, panel, [&](int lane, int64_t row) {
      const auto* blocks = reinterpret_cast<const Block*>(RowAt(matrix, row));
      Format::Pack(chunks[b / kInChunk], lane, static_cast<int>(b % kInChunk), blocks[b]);
    });
  }
}

// Selects the one of the format's types that the matrix has.
template <class Format, class... Each>
void PackTypes(const HostMatrix& matrix, int64_t panel, typename Format::Chunk* chunks, FileBlockList<Each...>) {
  (void)((matrix.type == Each::kType && (PackBlocks<Format, typename Each::Block>(matrix, panel, chunks), true)) ||
         ...);
}

template <int kRun>
void PackZeroPoint4(const HostMatrix& matrix, int64_t panel, typename ZeroPoint4<kRun>::Chunk* chunks) {
  ForLanes(matrix, panel, [&](int lane, int64_t row) {
    const auto* blocks = reinterpret_cast<const formats::BlockQ8_0*>(RowAt(matrix, row));
    ZeroPoint4<kRun>::PackRow(chunks, lane, {blocks, static_cast<size_t>(matrix.cols / kBlock)});
  });
}

void PackFp8(const HostMatrix& matrix, int64_t panel, ChunkedFp8::Chunk* chunks) {
  const auto& layout = std::get<formats::Fp8Layout>(*matrix.layout);
  ForLanes(matrix, panel, [&](int lane, int64_t row) {
    const float* scales =
        layout.scales.data() + row / layout.block_outputs * formats::ScaleColumns(layout, matrix.cols);
    ChunkedFp8::PackRow(chunks, lane, layout.values.data() + row * matrix.cols, matrix.cols, scales,
                        layout.block_inputs);
  });
}

template <class Format>
void PackDense(const HostMatrix& matrix, int64_t panel, std::byte* out) {
  std::vector<float> decoded;
  ForLanes(matrix, panel, [&](int lane, int64_t row) {
    if (Format::FileBlocks::Contains(matrix.type)) {
      Format::PackRow(out, lane, RowAt(matrix, row), matrix.cols);
    } else {  // types without a format of their own are decoded to F32
      decoded.resize(static_cast<size_t>(matrix.cols));
      host::ReadRow(matrix, row, decoded.data());
      DenseF32::PackRow(out, lane, reinterpret_cast<const std::byte*>(decoded.data()), matrix.cols);
    }
  });
}

// Overloads by format: the general one is for block formats.
template <class Format>
struct Packing {
  static void Pack(const HostMatrix& matrix, int64_t panel, std::byte* out) {
    if constexpr (requires { typename Format::Chunk; }) {
      PackTypes<Format>(matrix, panel, reinterpret_cast<typename Format::Chunk*>(out), typename Format::FileBlocks());
    } else {
      PackDense<Format>(matrix, panel, out);
    }
  }
};
template <int kRun>
struct Packing<ZeroPoint4<kRun>> {
  static void Pack(const HostMatrix& matrix, int64_t panel, std::byte* out) {
    PackZeroPoint4<kRun>(matrix, panel, reinterpret_cast<typename ZeroPoint4<kRun>::Chunk*>(out));
  }
};
template <>
struct Packing<ChunkedFp8> {
  static void Pack(const HostMatrix& matrix, int64_t panel, std::byte* out) {
    PackFp8(matrix, panel, reinterpret_cast<ChunkedFp8::Chunk*>(out));
  }
};

template <class Format>
int64_t BytesOfPanel(int64_t inputs) {
  if constexpr (requires { Format::PanelBytes(inputs); }) {
    return Format::PanelBytes(inputs);
  } else {
    const int64_t chunks = (inputs + kChunk - 1) / kChunk;
    const int64_t missing = (chunks * kChunk - inputs) / kBlock;  // 0 for types whose blocks are chunks
    return chunks * static_cast<int64_t>(sizeof(typename Format::Chunk)) - missing * Format::kChunkTail;
  }
}

struct FormatRow {
  const char* name = nullptr;
  bool int8 = false;
  int64_t (*panel_bytes)(int64_t inputs) = nullptr;
  void (*pack)(const HostMatrix&, int64_t panel, std::byte* out) = nullptr;
};

constexpr auto kRows = [] {
  std::array<FormatRow, kPanelFormats> out;
  int row = 0;
  ForFormats([&]<class Format>() {
    out[row++] = {Format::kName, Format::kInt8Matmul, BytesOfPanel<Format>, Packing<Format>::Pack};
  });
  return out;
}();

const FormatRow& RowOf(PanelFormat format) { return kRows[IndexOf(format)]; }

}  // namespace

PanelFormat FormatOf(const HostMatrix& matrix, ThreadPool& pool) {
  if (matrix.layout) return FormatOf<ChunkedFp8>();
  if (matrix.type != formats::TensorType::kQ8_0) return FormatOf(matrix.type);
  const int run = ZeroPoint4Run(matrix, pool);
  if (run == 0) return FormatOf<Q8_0>();
  return run == 1 ? FormatOf<ZeroPoint4<1>>() : FormatOf<ZeroPoint4<kZeroPoint4Run>>();
}

const char* FormatName(PanelFormat format) { return RowOf(format).name; }

bool IsInt8(PanelFormat format) { return RowOf(format).int8; }

int64_t PanelBytes(PanelFormat format, int64_t inputs) { return RowOf(format).panel_bytes(inputs); }

void PackPanel(const HostMatrix& matrix, PanelFormat format, int64_t panel, std::byte* out) {
  RowOf(format).pack(matrix, panel, out);
}

}  // namespace inferflux::compute::cpu
