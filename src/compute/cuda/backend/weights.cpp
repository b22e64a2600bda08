#include "compute/cuda/backend/weights.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/checked_math.h"
#include "compute/cuda/backend/narrowed.h"
#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/products/weight_rows.h"
#include "compute/host/check_matrix.h"

namespace inferflux::compute {
namespace {

using formats::TensorType;

// How a matrix's rows are stored: its own type where a kernel reads that, else FP16.
TensorType StoredType(const HostMatrix& part) {
  return part.layout == nullptr && cuda::HasWeightRows(part.type) ? part.type : TensorType::kF16;
}

// Writes a row as it is stored. `values` and `halves`: room for one row.
template <class R>
void StoreRow(const HostMatrix& part, int64_t row, std::vector<float>& values, std::vector<Fp16>& halves,
              std::byte* out) {
  if (part.layout == nullptr && part.type == R::kType) {
    R::Store(part.data.data() + row * host::RowBytesOf(part), part.cols, out);
    return;
  }
  host::ReadRow(part, row, values.data());
  std::transform(values.begin(), values.end(), halves.begin(), [](float value) { return ToFp16(value); });
  cuda::F16Rows::Store(reinterpret_cast<const std::byte*>(halves.data()), part.cols, out);
}

template <class R>
Status StoreRows(Cuda::Context& context, std::span<const HostMatrix> parts, int64_t row_bytes, std::byte* to) {
  const int64_t at_once = std::max<int64_t>(1, (int64_t{1} << 20) / row_bytes);
  std::vector<std::byte> rows;
  std::vector<float> values(static_cast<size_t>(parts.front().cols));
  std::vector<Fp16> halves(values.size());
  for (const HostMatrix& part : parts) {
    for (int64_t row = 0; row < part.rows; row += at_once) {
      const int64_t count = std::min(at_once, part.rows - row);
      rows.resize(static_cast<size_t>(count * row_bytes));
      for (int64_t r = 0; r < count; ++r) {
        StoreRow<R>(part, row + r, values, halves, rows.data() + r * row_bytes);
      }
      if (auto copied = context.staging->Copy(to, rows); !copied) return copied;
      to += rows.size();
    }
  }
  return {};
}

// Matrices that are stored as `type`, one after the other, as one.
Result<Cuda::WeightPart> LoadPart(Cuda::Context& context, std::span<const HostMatrix> parts, TensorType type,
                                  int64_t first) {
  Cuda::WeightPart out{.first = first};
  cuda::WeightMatrix& weights = out.weights;
  weights.type = type;
  weights.columns = parts.front().cols;
  for (const HostMatrix& part : parts) weights.rows += part.rows;
  Status stored;
  cuda::WithWeightRows(weights.type, [&]<class R>() {
    weights.row_bytes = R::RowBytes(weights.columns);
    const auto bytes = CheckedMul(static_cast<uint64_t>(weights.rows), static_cast<uint64_t>(weights.row_bytes));
    if (!bytes) {
      stored = Fail(ErrorCode::kResourceExhausted, "{} has {} rows", parts.front().name, weights.rows);
      return;
    }
    auto memory = cuda::DeviceBytes::Allocate(*context.runtime, *bytes);
    if (!memory) {
      stored = Forward(memory, fmt::format("the weights {}", parts.front().name));
      return;
    }
    out.bytes = std::move(*memory);
    weights.data = out.bytes.as<const uint8_t>();
    context.weight_bytes += static_cast<int64_t>(*bytes);
    stored = StoreRows<R>(context, parts, weights.row_bytes, out.bytes.as<std::byte>());
  });
  if (!stored) return Forward(stored);
  return out;
}

}  // namespace

Result<std::vector<Cuda::WeightPart>> cuda_ops::LoadParts(Cuda::Context& context, std::span<const HostMatrix> parts) {
  std::vector<Cuda::WeightPart> out;
  int64_t first = 0;
  for (size_t begin = 0; begin < parts.size();) {
    size_t end = begin + 1;
    while (end < parts.size() && StoredType(parts[end]) == StoredType(parts[begin])) ++end;
    auto part = LoadPart(context, parts.subspan(begin, end - begin), StoredType(parts[begin]), first);
    if (!part) return Forward(part);
    first += part->weights.rows;
    out.push_back(std::move(*part));
    begin = end;
  }
  return out;
}

Result<Cuda::WeightPart> cuda_ops::LoadAsOne(Cuda::Context& context, std::span<const HostMatrix> parts) {
  const TensorType type = StoredType(parts.front());
  const bool same = std::ranges::all_of(parts, [&](const HostMatrix& part) { return StoredType(part) == type; });
  return LoadPart(context, parts, same ? type : TensorType::kF16, 0);
}

std::string cuda_ops::DescribeParts(std::span<const Cuda::WeightPart> parts) {
  std::vector<std::string_view> stored;
  for (const Cuda::WeightPart& part : parts) stored.push_back(formats::TensorTypeName(part.weights.type));
  const bool dense =
      std::ranges::all_of(parts, [](const Cuda::WeightPart& part) { return cuda_ops::IsDense(part.weights.type); });
  return fmt::format("as {}; up to {} rows as they are, more by cuBLASLt", fmt::join(stored, "+"),
                     dense ? kFewRows : cuda::kThinRows);
}

Cuda::Buffer Cuda::LoadVector(Context& context, std::span<const float> values) {
  Buffer out = cuda_ops::New(context, 1, std::ssize(values));
  if (out.memory) cuda_ops::Must(context.staging->Copy(out.data(), std::as_bytes(values)));
  return out;
}

Result<Cuda::Matrix> Cuda::LoadMatrix(Context& context, std::span<const HostMatrix> parts) {
  if (auto checked = host::CheckParts(parts); !checked) return Forward(checked);
  auto stored = cuda_ops::LoadParts(context, parts);
  if (!stored) return Forward(stored);
  Matrix out{.cols = parts.front().cols, .parts = std::move(*stored), .description = {}};
  for (const WeightPart& part : out.parts) out.rows += part.weights.rows;
  out.description =
      fmt::format("{} [{}, {}] {}", host::TypesOf(parts), out.rows, out.cols, cuda_ops::DescribeParts(out.parts));
  return out;
}

Result<Cuda::Table> Cuda::LoadTable(Context& context, const HostMatrix& table) {
  return LoadMatrix(context, {&table, 1});
}

}  // namespace inferflux::compute
