#include "compute/host/check_matrix.h"

#include <fmt/ranges.h>

#include <vector>

#include "base/checked_math.h"
#include "formats/quant/dequantize.h"

namespace inferflux::compute::host {
Status CheckParts(std::span<const HostMatrix> parts) {
  if (parts.empty()) return Fail(ErrorCode::kInvalidArgument, "a matrix of no parts");
  for (const HostMatrix& part : parts) {
    if (part.rows <= 0 || part.cols <= 0) {
      return Fail(ErrorCode::kInvalidArgument, "{} is [{}, {}]: empty", part.name, part.rows, part.cols);
    }
    if (part.cols != parts.front().cols) {
      return Fail(ErrorCode::kInvalidArgument, "{} has {} inputs where {} has {}: they cannot share a matmul",
                  part.name, part.cols, parts.front().name, parts.front().cols);
    }
    if (part.layout != nullptr) {
      if (formats::Fits(*part.layout, part.rows, part.cols)) continue;
      return Fail(ErrorCode::kDataLoss, "{}: its numbers and scales are not of [{}, {}]", part.name, part.rows,
                  part.cols);
    }
    if (!formats::CanDequantize(part.type)) {
      return Fail(ErrorCode::kUnsupported, "{}: no decoder for {}", part.name, formats::TensorTypeName(part.type));
    }
    const auto row_bytes = formats::RowBytes(part.type, static_cast<uint64_t>(part.cols));
    if (!row_bytes) return Forward(row_bytes);
    const auto bytes = CheckedMul(*row_bytes, static_cast<uint64_t>(part.rows));
    if (!bytes || *bytes != part.data.size()) {
      return Fail(ErrorCode::kDataLoss, "{} holds {} bytes, not what [{}, {}] of its type takes", part.name,
                  part.data.size(), part.rows, part.cols);
    }
  }
  return {};
}

void ReadRow(const HostMatrix& part, int64_t row, float* out) {
  if (part.layout == nullptr) {
    formats::DequantizeRow(part.type, part.data.data() + row * RowBytesOf(part), out, part.cols);
    return;
  }
  formats::ReadRow(std::get<formats::Fp8Layout>(*part.layout), row, part.cols, out);
}

int64_t StoredBytesOf(const HostMatrix& part) {
  return static_cast<int64_t>(part.layout ? StoredBytes(*part.layout) : part.data.size());
}

int64_t RowBytesOf(const HostMatrix& part) { return static_cast<int64_t>(part.data.size()) / part.rows; }

std::string TypesOf(std::span<const HostMatrix> parts) {
  std::vector<std::string> names;
  for (const HostMatrix& part : parts) {
    names.push_back(part.layout ? WeightLayoutName(*part.layout) : std::string(formats::TensorTypeName(part.type)));
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace inferflux::compute::host
