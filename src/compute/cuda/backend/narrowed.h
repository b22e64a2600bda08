// Activations as the tensor cores take them.
#pragma once

#include <type_traits>

#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/narrow.h"

namespace inferflux::compute::cuda_ops {

// Up to these many rows the float units keep up with memory where weights need not be unpacked: each is read once, and
// activations are not rounded. Beyond, cuBLASLt multiplies. With blocks of weights that holds for one row; more go to
// MultiplyThin, and beyond its rows the blocks are unpacked as a whole for cuBLASLt.
inline constexpr int64_t kFewRows = cuda::kRowsAtOnce;

constexpr bool IsDense(formats::TensorType type) {
  return type == formats::TensorType::kF32 || type == formats::TensorType::kF16 || type == formats::TensorType::kBf16;
}

// Whether products with weights of this type multiply BF16; else FP16.
constexpr bool TakesBf16(formats::TensorType type) {
  return type == formats::TensorType::kBf16 || type == formats::TensorType::kMxfp4;
}

// x rounded to T, once for all parts of a matrix that want it.
template <class T>
class Narrowed {
 public:
  static constexpr bool kScaled = std::is_same_v<T, Fp16>;

  Narrowed() = default;
  // What is rounded already: [rows, columns], of which there are a multiple of 16.
  Narrowed(cuda::ArenaPiece elements, int64_t columns) : columns_(columns), elements_(std::move(elements)) {}

  // [x.rows, x.cols rounded up to 16], with zeros beyond x's columns.
  cuda::Rows<const T> Of(Cuda::Context& context, const Cuda::View& x) {
    if (!elements_) {
      columns_ = (x.cols + 15) / 16 * 16;
      elements_ = Must(context.arena->Allocate(static_cast<size_t>(x.rows * columns_) * sizeof(T)));
      if (kScaled) scales_ = Must(context.arena->Allocate(static_cast<size_t>(x.rows) * sizeof(float)));
      Must(cuda::Narrow<T>(RowsOf(x), columns_, static_cast<T*>(elements_.get()), static_cast<float*>(scales_.get()),
                           context.stream));
    }
    return {static_cast<const T*>(elements_.get()), x.rows, columns_, columns_};
  }

  // [x.rows], by which each row of a product is multiplied; null: there are none.
  const float* scales() const { return static_cast<const float*>(scales_.get()); }

 private:
  int64_t columns_ = 0;
  cuda::ArenaPiece elements_, scales_;
};

}  // namespace inferflux::compute::cuda_ops
