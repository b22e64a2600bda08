// What the operations share: buffers of the arena, views as kernels take them, and errors.
#pragma once

#include <span>
#include <utility>

#include "base/without_exceptions.h"
#include "compute/cuda/cuda_backend.h"

namespace inferflux::compute::cuda_ops {

inline void Must(const Status& status) {
  if (!status) throw ThrownError(status.error());
}
template <class T>
T Must(Result<T> result) {
  if (!result) throw ThrownError(std::move(result.error()));
  return *std::move(result);
}

// Waits for the context's work, whose results are then what they should be.
inline void Wait(Cuda::Context& context) {
  Must(context.runtime->Synchronize(context.stream));
  if (context.devices != nullptr) Must(context.devices->Check());
}

inline Cuda::Buffer New(Cuda::Context& context, int64_t rows, int64_t cols) {
  Cuda::Buffer out{.memory = {}, .rows = rows, .cols = cols};
  if (rows * cols > 0) {
    out.memory = Must(context.arena->Allocate(static_cast<size_t>(rows * cols) * sizeof(float)));
  }
  return out;
}

// Memory of the arena with a copy of host values. Of a step that is captured, they are the same each time.
template <class T>
cuda::ArenaPiece Upload(Cuda::Context& context, std::span<const T> values) {
  if (context.recording != nullptr) return Must(context.recording->Upload(std::as_bytes(values)));
  auto piece = Must(context.arena->Allocate(values.size_bytes()));
  Must(context.staging->Copy(piece.get(), std::as_bytes(values)));
  return piece;
}

inline cuda::Rows<const float> RowsOf(const Cuda::View& x) { return {x.data, x.rows, x.cols, x.stride}; }
inline cuda::Rows<float> RowsOf(const Cuda::Buffer& x) { return {x.data(), x.rows, x.cols, x.cols}; }

// Columns [first, first + count) of a buffer that is being written.
inline cuda::Rows<float> ColumnsOf(const Cuda::Buffer& x, int64_t first, int64_t count) {
  return {x.data() + first, x.rows, count, x.cols};
}

// A result of x's shape, which `launch` fills; a view without rows gives one without rows.
template <class F>
Cuda::Buffer OfShape(Cuda::Context& context, const Cuda::View& x, const F& launch) {
  Cuda::Buffer out = New(context, x.rows, x.cols);
  if (out.memory) Must(launch(RowsOf(x), RowsOf(out)));
  return out;
}

}  // namespace inferflux::compute::cuda_ops
