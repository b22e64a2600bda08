#include <concepts>

#include "compute/cuda/device/half.h"
#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/products/products.h"
#include "compute/cuda/kernels/products/weight_rows.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kUnpackThreads = 256;

// A thread unpacks a group. Blocks x are of all groups of a row, y are runs of rows.
template <class R>
__global__ void UnpackRowsKernel(WeightMatrix w, typename R::Element* y, int64_t columns) {
  using T = typename R::Element;
  const int64_t groups = columns / kGroup;
  const int64_t at = int64_t{BlockIndex().x} * kUnpackThreads + ThreadIndex().x;
  if (at >= groups * w.rows) return;
  const int64_t row = at / groups;
  const int64_t group = at % groups;
  float values[kGroup];
  R::Unpack(w.data + row * w.row_bytes, w.columns, group, values);
  auto* to = reinterpret_cast<Pack<T, 8>*>(y + row * columns + group * kGroup);
  for (int half = 0; half < kGroup / 8; ++half) {
    Pack<T, 8> packed;
    for (int i = 0; i < 8; ++i) packed.x[i] = FromFloat<T>(values[half * 8 + i]);
    to[half] = packed;
  }
}

template <class T>
Status UnpackRowsOf(const WeightMatrix& w, T* y, int64_t columns, Stream stream) {
  if (columns % kGroup != 0 || columns < w.columns || reinterpret_cast<uintptr_t>(y) % 16 != 0) {
    return Fail(ErrorCode::kInvalidArgument, "rows of {} values unpacked into rows of {}", w.columns, columns);
  }
  Status out;
  const bool known = WithWeightRows(w.type, [&]<class R>() {
    if constexpr (!std::same_as<R, F32Rows> && std::same_as<typename R::Element, T>) {
      const int64_t groups = columns / kGroup * w.rows;
      out = Launch(UnpackRowsKernel<R>, {static_cast<unsigned>((groups + kUnpackThreads - 1) / kUnpackThreads)},
                   {kUnpackThreads}, 0, stream, w, y, columns);
    } else {
      out = Fail(ErrorCode::kInvalidArgument, "rows of {} unpacked as another type", formats::TensorTypeName(w.type));
    }
  });
  if (!known) return Fail(ErrorCode::kUnsupported, "no kernel unpacks {}", formats::TensorTypeName(w.type));
  return out;
}

}  // namespace

Status UnpackRows(const WeightMatrix& w, Fp16* y, int64_t columns, Stream stream) {
  return UnpackRowsOf(w, y, columns, stream);
}
Status UnpackRows(const WeightMatrix& w, Bf16* y, int64_t columns, Stream stream) {
  return UnpackRowsOf(w, y, columns, stream);
}

}  // namespace inferflux::cuda
