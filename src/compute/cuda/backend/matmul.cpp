#include <algorithm>

#include "compute/cuda/backend/narrowed.h"
#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::compute {
namespace {

using cuda_ops::Must;

bool Aligned(const void* at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; }

// By cuBLASLt, which wants pointers to multiples of 16 bytes. `x`: [rows, stride] of `type`.
void MultiplyByLibrary(Cuda::Context& context, cuda::ElementType type, const void* x, int64_t x_stride,
                       const cuda::WeightMatrix& w, const cuda::Rows<float>& y) {
  Cuda::Buffer apart;
  cuda::Rows<float> to = y;
  if (!Aligned(y.data)) {
    apart = cuda_ops::New(context, y.rows, y.columns);
    to = cuda_ops::RowsOf(apart);
  }
  Must(context.runtime->MatMul({.m = w.rows,
                                .n = y.rows,
                                .k = w.columns,
                                .a_type = type,
                                .b_type = type,
                                .d_type = cuda::ElementType::kF32,
                                .transpose_a = true,
                                .a = w.data,
                                .b = x,
                                .d = to.data,
                                .lda = w.row_bytes / cuda::ElementBytes(type),
                                .ldb = x_stride,
                                .ldd = to.stride},
                               context.stream));
  if (apart.memory) Must(cuda::Scale(cuda_ops::RowsOf(Cuda::View(apart)), 1.0f, y, context.stream));
}

// The matrix as rows of T, in memory of the arena.
template <class T>
struct Unpacked {
  cuda::ArenaPiece memory;
  cuda::WeightMatrix dense;

  Unpacked(Cuda::Context& context, const cuda::WeightMatrix& w) {
    const int64_t columns = (w.columns + 15) / 16 * 16;
    dense = {.type = std::is_same_v<T, Fp16> ? formats::TensorType::kF16 : formats::TensorType::kBf16,
             .rows = w.rows,
             .columns = w.columns,
             .row_bytes = columns * static_cast<int64_t>(sizeof(T))};
    memory = Must(context.arena->Allocate(static_cast<size_t>(w.rows * dense.row_bytes)));
    dense.data = static_cast<const uint8_t*>(memory.get());
    Must(cuda::UnpackRows(w, static_cast<T*>(memory.get()), columns, context.stream));
  }
};

template <class T>
void MultiplyNarrowed(Cuda::Context& context, cuda_ops::Narrowed<T>& narrowed, const Cuda::View& x,
                      const cuda::WeightMatrix& w, const cuda::Rows<float>& y) {
  constexpr bool kScaled = cuda_ops::Narrowed<T>::kScaled;
  constexpr auto kType = kScaled ? cuda::ElementType::kF16 : cuda::ElementType::kBf16;
  const cuda::Rows<const T> elements = narrowed.Of(context, x);
  const bool dense = cuda_ops::IsDense(w.type);
  if (!dense && x.rows <= cuda::kThinRows) {
    Must(cuda::MultiplyThin(elements, narrowed.scales(), w, y, context.stream));
    return;
  }
  if (dense) {
    MultiplyByLibrary(context, kType, elements.data, elements.stride, w, y);
  } else {
    const Unpacked<T> unpacked(context, w);
    MultiplyByLibrary(context, kType, elements.data, elements.stride, unpacked.dense, y);
  }
  if (kScaled) Must(cuda::ScaleRows({y.data, y.rows, y.columns, y.stride}, narrowed.scales(), y, context.stream));
}

}  // namespace

Cuda::Buffer Cuda::MatMul(Context& context, View x, const Matrix& matrix) {
  Buffer out = cuda_ops::New(context, x.rows, matrix.rows);
  if (!out.memory) return out;
  cuda_ops::Narrowed<Fp16> halves;
  cuda_ops::Narrowed<Bf16> brain_floats;
  Buffer dense;
  for (const WeightPart& part : matrix.parts) {
    const cuda::WeightMatrix& w = part.weights;
    const auto y = cuda_ops::ColumnsOf(out, part.first, w.rows);
    if (x.rows <= (cuda_ops::IsDense(w.type) ? cuda_ops::kFewRows : 1)) {
      Must(cuda::MultiplyFewRows(cuda_ops::RowsOf(x), w, y, context.stream));
    } else if (w.type == formats::TensorType::kF32) {
      if (!Aligned(x.data)) {
        dense = Scale(context, x, 1.0f);
        x = dense;
      }
      MultiplyByLibrary(context, cuda::ElementType::kF32, x.data, x.stride, w, y);
    } else if (cuda_ops::TakesBf16(w.type)) {
      MultiplyNarrowed(context, brain_floats, x, w, y);
    } else {
      MultiplyNarrowed(context, halves, x, w, y);
    }
  }
  return out;
}

// What only a product reads is rounded where it is computed, and never stored as floats.
Cuda::Buffer Cuda::GateMatMul(Context& context, View gate, View up, Activation activation, const Matrix& matrix) {
  const bool by_library = gate.rows > cuda_ops::kFewRows && gate.cols % 16 == 0 &&
                          std::ranges::all_of(matrix.parts, [](const WeightPart& part) {
                            return part.weights.type == formats::TensorType::kBf16;
                          });
  if (!by_library) return MatMul(context, Gate(context, gate, up, activation), matrix);
  auto elements = Must(context.arena->Allocate(static_cast<size_t>(gate.rows * gate.cols) * sizeof(Bf16)));
  Must(cuda::Gate(cuda_ops::RowsOf(gate), cuda_ops::RowsOf(up), activation, static_cast<Bf16*>(elements.get()),
                  context.stream));
  cuda_ops::Narrowed<Bf16> narrowed(std::move(elements), gate.cols);
  Buffer out = cuda_ops::New(context, gate.rows, matrix.rows);
  for (const WeightPart& part : matrix.parts) {
    MultiplyNarrowed(context, narrowed, gate, part.weights, cuda_ops::ColumnsOf(out, part.first, part.weights.rows));
  }
  return out;
}

}  // namespace inferflux::compute
