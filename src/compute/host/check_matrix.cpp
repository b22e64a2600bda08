#include "compute/host/check_matrix.h"

#include <fmt/ranges.h>

#include <vector>

#include "base/checked_math.h"
#include "formats/quant/dequantize.h"

namespace inferflux::compute::host {
namespace {

// Its arrays have the sizes that the shape makes them.
bool Fits(const formats::AffineForm& form, const HostMatrix& matrix) {
  const auto weights = CheckedMul(static_cast<uint64_t>(matrix.rows), static_cast<uint64_t>(matrix.cols));
  if (!weights || *weights > uint64_t{1} << 50 || matrix.cols % form.group != 0) return false;
  const uint64_t scale_bytes = *weights / static_cast<uint64_t>(form.group) * formats::Traits(form.scale_type).block_bytes;
  return form.words.size() * 8 == *weights * static_cast<uint64_t>(form.bits) && form.scales.size() == scale_bytes &&
         form.biases.size() == scale_bytes;
}

}  // namespace

Status CheckParts(std::span<const HostMatrix> parts) {
  if (parts.empty()) return Fail(ErrorCode::kInvalidArgument, "a matrix of no parts");
  for (const HostMatrix& part : parts) {
    if (part.rows <= 0 || part.cols <= 0) {
      return Fail(ErrorCode::kInvalidArgument, "{} is [{}, {}]: empty", part.name, part.rows, part.cols);
    }
    if (part.cols != parts.front().cols) {
      return Fail(ErrorCode::kInvalidArgument, "{} has {} inputs where {} has {}: they cannot share a product",
                  part.name, part.cols, parts.front().name, parts.front().cols);
    }
    const bool fits = part.affine == nullptr || Fits(*part.affine, part);
    if (!fits) return Fail(ErrorCode::kDataLoss, "{}: its affine groups are not of [{}, {}]", part.name, part.rows, part.cols);
    if (part.affine != nullptr) continue;
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
  }
  return {};
}

int64_t RowBytesOf(const HostMatrix& part) { return static_cast<int64_t>(part.data.size()) / part.rows; }

std::string TypesOf(std::span<const HostMatrix> parts) {
  std::vector<std::string> names;
  for (const HostMatrix& part : parts) {
    names.push_back(part.affine ? fmt::format("MLX {}-bit", part.affine->bits)
                                : std::string(formats::TensorTypeName(part.type)));
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace inferflux::compute::host
