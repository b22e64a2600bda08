#include "compute/cuda/kernels/attention.h"
#include "compute/cuda/kernels/store_row.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// Blocks x are rows, y are heads.
template <class S>
__global__ void AppendKernel(Rows<const float> k, Rows<const float> v, int heads, const int32_t* slots,
                             KvPointers<S> kv) {
  const int64_t row = BlockIndex().x;
  const auto head = static_cast<int64_t>(BlockIndex().y);
  const int dim = static_cast<int>(k.columns) / heads;
  const int64_t to = int64_t{slots[row]} * heads + head;
  const float* key = k.data + row * k.stride + head * dim;
  const float* value = v.data + row * v.stride + head * dim;
  StoreRow([&](int d) { return key[d]; }, dim, to, kv.keys, kv.key_scales);
  StoreRow([&](int d) { return value[d]; }, dim, to, kv.values, kv.value_scales);
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
