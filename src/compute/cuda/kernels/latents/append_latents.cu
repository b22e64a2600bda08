#include "compute/cuda/kernels/latents/latents.h"
#include "compute/cuda/kernels/store_row.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// Blocks are rows.
template <class S>
__global__ void AppendLatentsKernel(Rows<const float> latents, Rows<const float> rotated, const int32_t* slots,
                                    KvPointers<S> kv) {
  const int64_t row = BlockIndex().x;
  const float* latent = latents.data + row * latents.stride;
  const float* key = rotated.data + row * rotated.stride;
  const int width = static_cast<int>(latents.columns);
  StoreRow([&](int d) { return d < width ? latent[d] : key[d - width]; }, width + static_cast<int>(rotated.columns),
           slots[row], kv.keys, kv.key_scales);
}

template <class S>
__global__ void AppendIndexKernel(Rows<const float> k, const int32_t* slots, KvPointers<S> kv) {
  const int64_t row = BlockIndex().x;
  const float* key = k.data + row * k.stride;
  StoreRow([&](int d) { return key[d]; }, static_cast<int>(k.columns), slots[row], kv.values, kv.value_scales);
}

}  // namespace

template <class S>
Status AppendLatents(Rows<const float> latents, Rows<const float> rotated, const int32_t* slots, KvPointers<S> kv,
                     Stream stream) {
  return Launch(AppendLatentsKernel<S>, {static_cast<unsigned>(latents.rows)}, {kWarpSize}, 0, stream, latents, rotated,
                slots, kv);
}

template <class S>
Status AppendIndex(Rows<const float> k, const int32_t* slots, KvPointers<S> kv, Stream stream) {
  return Launch(AppendIndexKernel<S>, {static_cast<unsigned>(k.rows)}, {kWarpSize}, 0, stream, k, slots, kv);
}

template Status AppendLatents(Rows<const float>, Rows<const float>, const int32_t*, KvPointers<float>, Stream);
template Status AppendLatents(Rows<const float>, Rows<const float>, const int32_t*, KvPointers<Fp16>, Stream);
template Status AppendLatents(Rows<const float>, Rows<const float>, const int32_t*, KvPointers<Bf16>, Stream);
template Status AppendLatents(Rows<const float>, Rows<const float>, const int32_t*, KvPointers<int8_t>, Stream);
template Status AppendLatents(Rows<const float>, Rows<const float>, const int32_t*, KvPointers<Fp8>, Stream);
template Status AppendIndex(Rows<const float>, const int32_t*, KvPointers<float>, Stream);
template Status AppendIndex(Rows<const float>, const int32_t*, KvPointers<Fp16>, Stream);
template Status AppendIndex(Rows<const float>, const int32_t*, KvPointers<Bf16>, Stream);
template Status AppendIndex(Rows<const float>, const int32_t*, KvPointers<int8_t>, Stream);
template Status AppendIndex(Rows<const float>, const int32_t*, KvPointers<Fp8>, Stream);

}  // namespace inferflux::cuda
