#include "base/half.h"
#include "compute/cuda/host_runtime.h"

namespace inferflux::cuda {
namespace {

float ReadElement(ElementType type, const void* from, int64_t i) {
  switch (type) {
    case ElementType::kF32:
      return static_cast<const float*>(from)[i];
    case ElementType::kF16:
      return ToFloat(static_cast<const Fp16*>(from)[i]);
    case ElementType::kBf16:
      return ToFloat(static_cast<const Bf16*>(from)[i]);
    case ElementType::kFp8:
      return ToFloat(static_cast<const Fp8*>(from)[i]);
  }
  return 0.0f;
}

void WriteElement(ElementType type, void* to, int64_t i, float value) {
  switch (type) {
    case ElementType::kF32:
      static_cast<float*>(to)[i] = value;
      break;
    case ElementType::kF16:
      static_cast<Fp16*>(to)[i] = ToFp16(value);
      break;
    case ElementType::kBf16:
      static_cast<Bf16*>(to)[i] = ToBf16(value);
      break;
    case ElementType::kFp8:
      static_cast<Fp8*>(to)[i] = ToFp8(value);
      break;
  }
}

// Each column of a matrix of `rows` x `columns` is there, and written.
Status CheckColumns(const executor::DeviceMemory& memory, const char* name, ElementType type, const void* at,
                    int64_t rows, int64_t columns, int64_t leading, bool written) {
  const int64_t size = ElementBytes(type);
  for (int64_t c = 0; c < columns; ++c) {
    const auto* column = static_cast<const std::byte*>(at) + c * leading * size;
    const auto bytes = static_cast<size_t>(rows * size);
    auto there = written ? memory.CheckWritten(column, bytes) : memory.CheckRange(column, bytes);
    if (!there) return Forward(there, fmt::format("matrix {}, column {}", name, c));
  }
  return {};
}

}  // namespace

Status HostMatMul(const MatMulParams& p, executor::DeviceMemory& memory) {
  const int64_t a_rows = p.transpose_a ? p.k : p.m;
  const int64_t b_rows = p.transpose_b ? p.n : p.k;
  if (auto there = CheckColumns(memory, "A", p.a_type, p.a, a_rows, p.m + p.k - a_rows, p.lda, true); !there)
    return there;
  if (auto there = CheckColumns(memory, "B", p.b_type, p.b, b_rows, p.n + p.k - b_rows, p.ldb, true); !there)
    return there;
  if (auto there = CheckColumns(memory, "D", p.d_type, p.d, p.m, p.n, p.ldd, p.beta != 0.0f); !there) return there;
  if (p.bias != nullptr) {
    if (auto there = CheckColumns(memory, "bias", p.d_type, p.bias, p.m, 1, p.m, true); !there) return there;
  }
  double scale = p.alpha;
  for (const float* factor : {p.scale_a, p.scale_b}) {
    if (factor == nullptr) continue;
    if (auto there = memory.CheckWritten(factor, sizeof(float)); !there) return there;
    scale *= *factor;
  }
  for (int64_t column = 0; column < p.n; ++column) {
    for (int64_t row = 0; row < p.m; ++row) {
      double sum = 0.0;
      for (int64_t i = 0; i < p.k; ++i) {
        const float a = ReadElement(p.a_type, p.a, p.transpose_a ? i + row * p.lda : row + i * p.lda);
        const float b = ReadElement(p.b_type, p.b, p.transpose_b ? column + i * p.ldb : i + column * p.ldb);
        sum += double{a} * b;
      }
      sum *= scale;
      const int64_t to = row + column * p.ldd;
      if (p.beta != 0.0f) sum += double{p.beta} * ReadElement(p.d_type, p.d, to);
      if (p.bias != nullptr) sum += ReadElement(p.d_type, p.bias, row);
      WriteElement(p.d_type, p.d, to, static_cast<float>(sum));
    }
    memory.MarkWritten(static_cast<std::byte*>(p.d) + column * p.ldd * ElementBytes(p.d_type),
                       static_cast<size_t>(p.m * ElementBytes(p.d_type)));
  }
  return {};
}

}  // namespace inferflux::cuda
