#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/kernels/narrow.h"

#include <cmath>

#include "compute/cuda/device/half.h"
#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// The exponent of a float, within what has an inverse; 0 of what is no finite number.
__device__ inline int ExponentOf(float value) {
  const int exponent = static_cast<int>(FloatBits(value) >> 23 & 0xff) - 127;
  if (exponent == 128) return 0;
  return exponent < -120 ? -120 : exponent > 120 ? 120 : exponent;
}

__device__ inline float PowerOfTwo(int exponent) { return FloatOfBits(static_cast<uint32_t>(exponent + 127) << 23); }

constexpr unsigned kConvertThreads = 256;
constexpr unsigned kScaleThreads = 512;
constexpr int kNarrowPacks = 8;  // packs that a thread keeps from the search for the largest

// Beyond x's columns there are zeros.
template <int kPack>
__device__ inline Pack<float, kPack> LoadOrZeros(const Pack<float, kPack>* from, int pack, int packs) {
  return pack < packs ? from[pack] : Pack<float, kPack>{};
}

template <class T, int kPack>
__device__ inline Pack<T, kPack> Converted(const Pack<float, kPack>& values, float factor) {
  Pack<T, kPack> out;
  for (int i = 0; i < kPack; ++i) out.x[i] = FromFloat<T>(values.x[i] * factor);
  return out;
}

// Blocks x are rows, of which there may be many, y share a row.
template <class T, int kPack>
__global__ void ConvertKernel(Rows<const float> x, int64_t y_columns, T* y) {
  WaitForKernelsBefore();
  const int64_t row = BlockIndex().x;
  const auto pack = static_cast<int>(BlockIndex().y * kConvertThreads + ThreadIndex().x);
  if (pack >= y_columns / kPack) return;
  const auto* from = reinterpret_cast<const Pack<float, kPack>*>(x.data + row * x.stride);
  auto* to = reinterpret_cast<Pack<T, kPack>*>(y + row * y_columns);
  to[pack] = Converted<T, kPack>(LoadOrZeros(from, pack, static_cast<int>(x.columns / kPack)), 1.0f);
}

// A block converts one row. Its first steps are read once: they stay in registers while the largest is looked for.
template <class T, int kPack>
__global__ void __launch_bounds__(kScaleThreads, 2)
    NarrowKernel(Rows<const float> x, int64_t y_columns, T* y, float* scales) {
  WaitForKernelsBefore();
  using Values = Pack<float, kPack>;
  const int64_t row = BlockIndex().x;
  const auto* from = reinterpret_cast<const Values*>(x.data + row * x.stride);
  auto* to = reinterpret_cast<Pack<T, kPack>*>(y + row * y_columns);
  const int packs = static_cast<int>(x.columns / kPack), y_packs = static_cast<int>(y_columns / kPack);
  const int thread = static_cast<int>(ThreadIndex().x), threads = static_cast<int>(BlockSize().x);

  Values held[kNarrowPacks];
  for (int k = 0; k < kNarrowPacks; ++k) held[k] = LoadOrZeros(from, thread + k * threads, packs);
  float largest = 0.0f;
  for (int k = 0; k < kNarrowPacks; ++k) {
    for (int i = 0; i < kPack; ++i) largest = fmaxf(largest, fabsf(held[k].x[i]));
  }
  for (int p = thread + kNarrowPacks * threads; p < packs; p += threads) {
    const Values values = from[p];
    for (int i = 0; i < kPack; ++i) largest = fmaxf(largest, fabsf(values.x[i]));
  }
  const int exponent = ExponentOf(BlockMax(largest, SharedMemory<float>()));
  const float inverse = PowerOfTwo(-exponent);
  if (thread == 0) scales[row] = PowerOfTwo(exponent);

  for (int k = 0; k < kNarrowPacks; ++k) {
    const int p = thread + k * threads;
    if (p < y_packs) to[p] = Converted<T, kPack>(held[k], inverse);
  }
  for (int p = thread + kNarrowPacks * threads; p < y_packs; p += threads) {
    to[p] = Converted<T, kPack>(LoadOrZeros(from, p, packs), inverse);
  }
}

template <class T, int kPack>
Status LaunchNarrow(Rows<const float> x, int64_t y_columns, T* y, float* scales, Stream stream) {
  const auto rows = static_cast<unsigned>(x.rows);
  const int64_t packs = y_columns / kPack;
  if (scales == nullptr) {
    const auto blocks = static_cast<unsigned>((packs + kConvertThreads - 1) / kConvertThreads);
    return LaunchEarly(ConvertKernel<T, kPack>, {rows, blocks}, {kConvertThreads}, 0, stream, x, y_columns, y);
  }
  return LaunchEarly(NarrowKernel<T, kPack>, {rows}, {RowThreads(packs, kScaleThreads)}, kReduceBytes, stream, x,
                     y_columns, y, scales);
}

}  // namespace

template <class T>
Status Narrow(Rows<const float> x, int64_t y_columns, T* y, float* scales, Stream stream) {
  constexpr int kPack = kWidest<float>;
  if (Packs<float>(kPack, x.columns, {x.stride}, {x.data}) && Packs<T>(kPack, y_columns, {}, {y})) {
    return LaunchNarrow<T, kPack>(x, y_columns, y, scales, stream);
  }
  return LaunchNarrow<T, 1>(x, y_columns, y, scales, stream);
}

template Status Narrow(Rows<const float>, int64_t, Fp16*, float*, Stream);
template Status Narrow(Rows<const float>, int64_t, Bf16*, float*, Stream);

}  // namespace inferflux::cuda
