#include "compute/cuda/runtime.h"

namespace inferflux::cuda {
namespace {

// Rows of a matrix as it is stored.
Status CheckLeading(const char* name, int64_t leading, int64_t rows) {
  if (leading >= rows) return {};
  return Fail(ErrorCode::kInvalidArgument, "{}'s leading dimension is {}, below its {} rows", name, leading, rows);
}

Status CheckPointer(const char* name, const void* at) {
  if (at != nullptr && reinterpret_cast<uintptr_t>(at) % 16 == 0) return {};
  return Fail(ErrorCode::kInvalidArgument, "{} at {} is not a multiple of 16", name, at);
}

constexpr int64_t RoundedUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

int64_t ColumnsOfAlgorithm(int64_t n) {
  if (n <= 4) return n;
  return RoundedUp(n, n <= 64 ? 8 : n <= 512 ? 32 : 256);
}

Status CheckMatMul(const MatMulParams& p) {
  if (p.m <= 0 || p.n <= 0 || p.k <= 0) {
    return Fail(ErrorCode::kInvalidArgument, "a product of {} x {} and {} x {}", p.m, p.k, p.k, p.n);
  }
  if (p.a_type != p.b_type) return Fail(ErrorCode::kInvalidArgument, "a product of two different types");
  if (auto fits = CheckLeading("A", p.lda, p.transpose_a ? p.k : p.m); !fits) return fits;
  if (auto fits = CheckLeading("B", p.ldb, p.transpose_b ? p.n : p.k); !fits) return fits;
  if (auto fits = CheckLeading("D", p.ldd, p.m); !fits) return fits;
  for (const auto& [name, at] :
       {std::pair("A", p.a), std::pair("B", p.b), std::pair("D", static_cast<const void*>(p.d))}) {
    if (auto aligned = CheckPointer(name, at); !aligned) return aligned;
  }
  const bool fp8 = p.a_type == ElementType::kFp8;
  if (p.d_type == ElementType::kFp8) return Fail(ErrorCode::kUnsupported, "D in FP8");
  if (!fp8 && p.d_type != p.a_type && p.d_type != ElementType::kF32) {
    return Fail(ErrorCode::kUnsupported, "D in another type than A's and than float");
  }
  if (!fp8 && (p.scale_a != nullptr || p.scale_b != nullptr)) {
    return Fail(ErrorCode::kInvalidArgument, "scales of A and B are for FP8");
  }
  // cuBLASLt's FP8 kernels: A transposed, B not, all dimensions multiples of 16.
  if (fp8 && (!p.transpose_a || p.transpose_b))
    return Fail(ErrorCode::kUnsupported, "FP8 other than op(A) = T, op(B) = N");
  if (fp8 && (p.m % 16 != 0 || p.n % 16 != 0 || p.k % 16 != 0 || p.lda % 16 != 0 || p.ldb % 16 != 0)) {
    return Fail(ErrorCode::kUnsupported, "an FP8 product of {} x {} x {}; each has to be a multiple of 16", p.m, p.n,
                p.k);
  }
  return {};
}

}  // namespace inferflux::cuda
