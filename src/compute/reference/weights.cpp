#include <fmt/format.h>

#include "compute/host/check_matrix.h"
#include "compute/host/copies.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

host::Buffer Reference::LoadVector(Context& context, std::span<const float> values) {
  return host::CopyIn(context.arena, values);
}

Result<Reference::Matrix> Reference::LoadMatrix(Context& context, std::span<const HostMatrix> parts) {
  if (auto checked = host::CheckParts(parts); !checked) return Forward(checked);
  Matrix out{.cols = parts.front().cols, .types = host::TypesOf(parts)};
  for (const HostMatrix& part : parts) {
    const size_t before = out.values.size();
    out.values.resize(before + static_cast<size_t>(part.rows * part.cols));
    for (int64_t r = 0; r < part.rows; ++r) {
      host::ReadRow(part, r, out.values.data() + before + r * part.cols);
    }
    out.rows += part.rows;
  }
  context.weight_bytes += static_cast<int64_t>(out.values.size() * sizeof(float));
  return out;
}

Result<Reference::Table> Reference::LoadTable(Context& context, const HostMatrix& table) {
  return LoadMatrix(context, {&table, 1});
}

std::string Reference::Describe(const Matrix& matrix) {
  return fmt::format("{} [{}, {}] dequantised to f32, scalar", matrix.types, matrix.rows, matrix.cols);
}

}  // namespace inferflux::compute
