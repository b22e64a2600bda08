#include <fmt/ranges.h>

#include "base/checked_math.h"
#include "compute/host/copies.h"
#include "compute/reference/reference_backend.h"
#include "formats/quant/dequantize.h"

namespace inferflux::compute {

host::Buffer Reference::LoadVector(Context& context, std::span<const float> values) {
  return host::CopyIn(context.arena, values);
}

Result<Reference::Matrix> Reference::LoadMatrix(Context&, std::span<const HostMatrix> parts) {
  Matrix out;
  std::vector<std::string> types;
  for (const HostMatrix& part : parts) {
    if (out.cols != 0 && part.cols != out.cols) {
      return Fail(ErrorCode::kInvalidArgument, "{} has {} inputs where {} has {}: they cannot share a product",
                  part.name, part.cols, parts.front().name, out.cols);
    }
    if (!formats::CanDequantize(part.type)) {
      return Fail(ErrorCode::kUnsupported, "{}: no decoder for {}", part.name, formats::TensorTypeName(part.type));
    }
    const auto row_bytes = formats::RowBytes(part.type, static_cast<uint64_t>(part.cols));
    if (!row_bytes) return tl::make_unexpected(row_bytes.error());
    const auto bytes = CheckedMul(*row_bytes, static_cast<uint64_t>(part.rows));
    if (!bytes || *bytes != part.data.size()) {
      return Fail(ErrorCode::kDataLoss, "{} holds {} bytes, not what [{}, {}] of its type takes", part.name,
                  part.data.size(), part.rows, part.cols);
    }
    out.cols = part.cols;
    const size_t before = out.values.size();
    out.values.resize(before + static_cast<size_t>(part.rows * part.cols));
    for (int64_t r = 0; r < part.rows; ++r) {
      formats::DequantizeRow(part.type, part.data.data() + r * static_cast<int64_t>(*row_bytes),
                             out.values.data() + before + r * part.cols, part.cols);
    }
    out.rows += part.rows;
    types.emplace_back(formats::TensorTypeName(part.type));
  }
  out.types = fmt::format("{}", fmt::join(types, "+"));
  return out;
}

Result<Reference::Table> Reference::LoadTable(Context& context, const HostMatrix& table) {
  return LoadMatrix(context, {&table, 1});
}

std::string Reference::Describe(const Matrix& matrix) {
  return fmt::format("{} [{}, {}] dequantised to f32, scalar", matrix.types, matrix.rows, matrix.cols);
}

}  // namespace inferflux::compute
