#include <cmath>

#include "compute/cuda/device/half.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/attention.h"
#include "compute/cuda/launch.h"
#include "compute/kv_types.h"

namespace inferflux::cuda {
namespace {

template <class S>
__device__ inline S Stored(float value) {
  if constexpr (compute::kStoredWithScales<S>) {
    return static_cast<int8_t>(rintf(fminf(fmaxf(value, -127.0f), 127.0f)));  // fmaxf makes -127 of what is no number
  } else {
    return FromFloat<S>(value);
  }
}

// A warp stores one head of one row: `to` is the head's place in the store.
template <class S>
__device__ inline void StoreHead(const float* from, int dim, int64_t to, S* values, float* scales) {
  float scale = 1.0f;
  if constexpr (compute::kStoredWithScales<S>) {
    float largest = 0.0f;
    for (int d = Lane(); d < dim; d += kWarpSize) largest = fmaxf(largest, fabsf(from[d]));
    largest = WarpMax(largest);
    if (largest > 0.0f) scale = largest / 127.0f;
    if (Lane() == 0) scales[to] = scale;
  }
  for (int d = Lane(); d < dim; d += kWarpSize) values[to * dim + d] = Stored<S>(from[d] / scale);
}

// Blocks x are rows, y are heads.
template <class S>
__global__ void AppendKernel(Rows<const float> k, Rows<const float> v, int heads, const int32_t* slots,
                             KvPointers<S> kv) {
  const int64_t row = BlockIndex().x;
  const auto head = static_cast<int64_t>(BlockIndex().y);
  const int dim = static_cast<int>(k.columns) / heads;
  const int64_t to = int64_t{slots[row]} * heads + head;
  StoreHead(k.data + row * k.stride + head * dim, dim, to, kv.keys, kv.key_scales);
  StoreHead(v.data + row * v.stride + head * dim, dim, to, kv.values, kv.value_scales);
}

}  // namespace

template <class S>
Status AppendKv(Rows<const float> k, Rows<const float> v, int32_t kv_heads, const int32_t* slots, KvPointers<S> kv,
                Stream stream) {
  return Launch(AppendKernel<S>, {static_cast<unsigned>(k.rows), static_cast<unsigned>(kv_heads)}, {kWarpSize}, 0,
                stream, k, v, kv_heads, slots, kv);
}

template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<float>, Stream);
template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<Fp16>, Stream);
template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<Bf16>, Stream);
template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<int8_t>, Stream);
template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<Fp8>, Stream);

}  // namespace inferflux::cuda
