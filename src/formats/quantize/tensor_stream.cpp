#include "formats/quantize/tensor_stream.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "formats/printable.h"
#include "formats/quant/dequantize.h"
#include "formats/quant/quantize.h"

namespace inferflux::formats {
namespace {

// Rows are split into pieces, each a multiple of the largest block; a batch of pieces is written at once.
constexpr uint64_t kPieceElements = 256 * 64;
constexpr uint64_t kBatchPieces = 512;
constexpr uint64_t kCopyBytes = uint64_t{16} << 20;

struct PieceBuffers {
  std::vector<float> values = std::vector<float>(kPieceElements);
  std::vector<float> back = std::vector<float>(kPieceElements);
  double squared_error = 0.0;
};

uint64_t BytesOf(TensorType type, uint64_t elements) {
  return elements / Traits(type).block_elements * Traits(type).block_bytes;
}

// One tensor during its conversion from type to type.
class TensorQuantizer {
 public:
  TensorQuantizer(const GgufTensor& tensor, TensorType type, std::span<const float> importance, ThreadPool& pool)
      : tensor_(tensor),
        type_(type),
        importance_(importance),
        pool_(pool),
        buffers_(static_cast<size_t>(pool.workers())) {}

  // The first element of a piece.
  uint64_t PieceStart(uint64_t piece) const {
    return piece / PiecesInRow() * tensor_.dims[0] + piece % PiecesInRow() * kPieceElements;
  }
  uint64_t pieces() const { return tensor_.rows() * PiecesInRow(); }

  // Quantises pieces [first, last) to `out`. The error names the tensor.
  Status Quantize(uint64_t first, uint64_t last, std::vector<std::byte>& out) {
    const uint64_t start = PieceStart(first);
    out.resize(BytesOf(type_, PieceStart(last) - start));
    std::atomic<bool> finite{true};
    pool_.ParallelFor(static_cast<int64_t>(last - first), 1, [&](int64_t begin, int64_t end, int worker) {
      for (auto i = static_cast<uint64_t>(begin); i < static_cast<uint64_t>(end); ++i) {
        const uint64_t at = PieceStart(first + i);
        std::byte* target = out.data() + BytesOf(type_, at - start);
        if (!QuantizePiece(at, PieceStart(first + i + 1) - at, target, buffers_[static_cast<size_t>(worker)]))
          finite = false;
      }
    });
    if (!finite) {
      return Fail(ErrorCode::kDataLoss, "tensor '{}' has weights that are not finite; the model is damaged",
                  Printable(tensor_.name));
    }
    return {};
  }

  double rmse() const {
    double total = 0.0;
    for (const PieceBuffers& buffers : buffers_) total += buffers.squared_error;
    return std::sqrt(total / static_cast<double>(tensor_.elements()));
  }

 private:
  uint64_t PiecesInRow() const { return (tensor_.dims[0] + kPieceElements - 1) / kPieceElements; }
  bool QuantizePiece(uint64_t at, uint64_t count, std::byte* target, PieceBuffers& buffers) const {
    const auto n = static_cast<int64_t>(count);
    DequantizeRow(tensor_.type, tensor_.data.data() + BytesOf(tensor_.type, at), buffers.values.data(), n);
    if (!std::all_of(buffers.values.begin(), buffers.values.begin() + n, [](float v) { return std::isfinite(v); }))
      return false;
    const float* importance = nullptr;
    if (!importance_.empty()) {  // one vector for each expert
      const uint64_t expert = at / (tensor_.dims[0] * tensor_.dims[1]) % tensor_.dims[2];
      importance = importance_.data() + expert * tensor_.dims[0] + at % tensor_.dims[0];
    }
    QuantizeRow(type_, buffers.values.data(), importance, target, n);
    DequantizeRow(type_, target, buffers.back.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const double error = static_cast<double>(buffers.values[i]) - buffers.back[i];
      buffers.squared_error += error * error;
    }
    return true;
  }

  const GgufTensor& tensor_;
  TensorType type_;
  std::span<const float> importance_;
  ThreadPool& pool_;
  std::vector<PieceBuffers> buffers_;  // one for each worker
};

Status Copy(const GgufTensor& tensor, GgufWriter& writer, PieceDone done) {
  for (uint64_t at = 0; at < tensor.data.size(); at += kCopyBytes) {
    const uint64_t end = std::min<uint64_t>(at + kCopyBytes, tensor.data.size());
    if (auto written = writer.WriteData(tensor.data.subspan(at, end - at)); !written) return written;
    done(end);
  }
  return {};
}

}  // namespace

// Releases the mapped pages that are entirely inside `bytes`.
void ReleasePages(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<double> StreamTensor(const GgufTensor& tensor, TensorType type, std::span<const float> importance,
                            GgufWriter& writer, ThreadPool& pool, PieceDone done) {
  if (type == tensor.type) return Copy(tensor, writer, done).map([] { return 0.0; });
  TensorQuantizer quantizer(tensor, type, importance, pool);
  std::vector<std::byte> batch;
  for (uint64_t first = 0; first < quantizer.pieces(); first += kBatchPieces) {
    const uint64_t last = std::min(first + kBatchPieces, quantizer.pieces());
    if (auto quantized = quantizer.Quantize(first, last, batch); !quantized) return Forward(quantized);
    if (auto written = writer.WriteData(batch); !written) return Forward(written);
    done(BytesOf(tensor.type, quantizer.PieceStart(last)));
  }
  return quantizer.rmse();
}

}  // namespace inferflux::formats
